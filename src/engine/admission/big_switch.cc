#include "engine/admission/big_switch.h"

#include <algorithm>
#include <utility>

namespace sluice {

bool BigSwitch::say(Hand hand, SwitchWord word, std::int64_t now_us, std::optional<std::int64_t> ends_us) {
  const Lock lock(mutex_);
  Held& last = held_[static_cast<std::size_t>(hand)];
  if (!word.is_newer_than(last.word)) return false;
  last.ends_us = ends_us.value_or(word.until_us);
  last.word = std::move(word);
  settle(now_us);
  return true;
}

void BigSwitch::shorten(Hand hand, const SwitchWord& word, std::int64_t ends_us) {
  const Lock lock(mutex_);
  Held& held = held_[static_cast<std::size_t>(hand)];
  if (held.word.is_newer_than(word)) return;
  held.ends_us = std::min(held.ends_us, ends_us);
}

bool BigSwitch::expire(std::int64_t now_us) {
  if (!is_open()) return false;
  const Lock lock(mutex_);
  const bool was_open = is_open();
  settle(now_us);
  return was_open && !is_open();
}

void BigSwitch::settle(std::int64_t now_us) {
  open_.store(std::ranges::any_of(held_, [&](const Held& held) { return held.is_open_at(now_us); }),
              std::memory_order_relaxed);
}

SwitchWord BigSwitch::word(Hand hand) const {
  const Lock lock(mutex_);
  return held_[static_cast<std::size_t>(hand)].word;
}

BigSwitch::Held BigSwitch::in_force(std::int64_t now_us) const {
  const Lock lock(mutex_);
  const auto lasts_until = [&](const Held& held) { return held.is_open_at(now_us) ? held.ends_us : 0; };
  return *std::ranges::max_element(held_, {}, lasts_until);
}

const BigSwitch& BigSwitch::never_open() {
  static const BigSwitch normal;
  return normal;
}

}  // namespace sluice

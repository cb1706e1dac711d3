#include "engine/admission/big_switch.h"

#include <algorithm>
#include <utility>

namespace sluice {

bool BigSwitch::say(Hand hand, SwitchWord word, std::int64_t now_us) {
  const Lock lock(mutex_);
  SwitchWord& last = words_[static_cast<std::size_t>(hand)];
  if (!word.is_newer_than(last)) return false;
  last = std::move(word);
  settle(now_us);
  return true;
}

bool BigSwitch::expire(std::int64_t now_us) {
  if (!is_open()) return false;
  const Lock lock(mutex_);
  const bool was_open = is_open();
  settle(now_us);
  return was_open && !is_open();
}

void BigSwitch::settle(std::int64_t now_us) {
  open_.store(std::ranges::any_of(words_, [&](const SwitchWord& word) { return word.holds_open_at(now_us); }),
              std::memory_order_relaxed);
}

SwitchWord BigSwitch::word(Hand hand) const {
  const Lock lock(mutex_);
  return words_[static_cast<std::size_t>(hand)];
}

SwitchWord BigSwitch::in_force(std::int64_t now_us) const {
  const Lock lock(mutex_);
  const auto lasts_until = [&](const SwitchWord& word) {
    return word.holds_open_at(now_us) ? word.until_us : 0;
  };
  return *std::ranges::max_element(words_, {}, lasts_until);
}

const BigSwitch& BigSwitch::never_open() {
  static const BigSwitch normal;
  return normal;
}

}  // namespace sluice

#include "control/outbox.h"

#include <utility>

#include "base/encode.h"
#include "base/switch_limits.h"
#include "control/token.h"

namespace sluice::control {
namespace {

// A database that is silent, or locked, takes seconds to say so: others are to have most of the thread's
// time.
constexpr std::int64_t kPauseUs = 2'000'000, kPauseFactor = 4;

std::string random_id() {
  const TokenEntropy random = token_entropy();
  return "outbox-" + to_hex({reinterpret_cast<const char*>(random.data()), random.size()});
}

// "open of switch by token ops-1"
std::string described(const ledger::Change& change) {
  const ledger::Draft& draft = change.drafts.front();
  return draft.action + " of " + draft.name + " by " + change.actor;
}

}  // namespace

void Outbox::post(ledger::Change change) {
  if (change.request_id.empty()) change.request_id = random_id();
  {
    const std::lock_guard lock(mutex_);
    if (changes_.size() < kOutboxMax) {
      changes_.push_back(std::move(change));
      return;
    }
  }
  log_(true,
       "the audit log lacks an entry, because too many wait for the policy database: " + described(change));
}

void Outbox::write(Registry& registry) {
  if (clock_.now_us() < next_try_us_ || !registry.is_loaded()) return;
  while (waiting() > 0)
    if (!write_first(registry)) return;
}

bool Outbox::write_first(Registry& registry) {
  ledger::Change change;
  {
    const std::lock_guard lock(mutex_);
    change = changes_.front();
  }
  const std::int64_t begin_us = clock_.now_us();
  const auto written = registry.write(change);
  const bool is_unreachable = !written && written.error().code == ErrorCode::kUnavailable;
  if (is_unreachable) {
    const std::int64_t now_us = clock_.now_us();
    next_try_us_ = now_us + kPauseUs + kPauseFactor * (now_us - begin_us);
    if (!std::exchange(failed_, true))
      log_(true, "the audit log will get its entry when the policy database answers (" +
                     written.error().message + "): " + described(change));
    return false;
  }
  if (!written)
    log_(true, "the audit log lacks an entry (" + written.error().message + "): " + described(change));
  failed_ = false;
  const std::lock_guard lock(mutex_);
  changes_.pop_front();
  return true;
}

std::size_t Outbox::waiting() const {
  const std::lock_guard lock(mutex_);
  return changes_.size();
}

}  // namespace sluice::control

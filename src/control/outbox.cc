#include "control/outbox.h"

#include <utility>

#include "base/limits/switch_limits.h"
#include "base/text/encode.h"
#include "control/access/token.h"

namespace sluice::control {
namespace {

// A call to a silent or locked database takes seconds to fail; other work must get most of the thread's time.
constexpr std::int64_t kPauseUs = 2'000'000, kPauseFactor = 4;
constexpr std::int64_t kKeepFactor = 10;

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

void Outbox::post(ledger::Change change, Revise revise) {
  if (change.request_id.empty()) change.request_id = random_id();
  {
    const std::lock_guard lock(mutex_);
    if (letters_.size() < kOutboxMax) {
      letters_.push_back({std::move(change), std::move(revise)});
      ++changes_;
      return;
    }
  }
  log_(true, "an audit log entry was dropped, because too many are waiting for the policy database: " +
                 described(change));
}

void Outbox::write(Registry& registry) {
  if (clock_.now_us() >= next_try_us_ && registry.is_loaded())
    while (waiting() > 0 && write_first(registry)) {
    }
  keep();
}

// As often as a tenth of the thread's time allows.
void Outbox::keep() {
  const std::int64_t begin_us = clock_.now_us();
  if (!file_.has_path() || begin_us < next_keep_us_) return;
  std::vector<ledger::Change> changes;
  {
    const std::lock_guard lock(mutex_);
    if (kept_ == changes_ && !keeping_failed_) return;
    kept_ = changes_;
    for (const Letter& letter : letters_) changes.push_back(letter.change);
  }
  if (changes.empty() && !has_file_) return;
  const auto kept = file_.write(changes);
  has_file_ = !changes.empty();
  if (!kept && !keeping_failed_)
    log_(true, "cannot save changes waiting for the policy database for the next start (" +
                   kept.error().message + "); set a folder with --state-dir");
  keeping_failed_ = !kept;
  const std::int64_t end_us = clock_.now_us();
  next_keep_us_ = end_us + kKeepFactor * (end_us - begin_us);
}

std::vector<ledger::Change> Outbox::take_up() {
  auto changes = file_.read();
  has_file_ = true;  // whatever it holds, it is removed when nothing waits
  if (changes) return *std::move(changes);
  log_(true, "changes that were waiting for the policy database when the last run ended are lost: " +
                 changes.error().message);
  return {};
}

// Each further attempt means that others have written meanwhile. If the change was written before and only
// the answer was lost, returns that answer.
Result<std::vector<ledger::Record>> Outbox::write_letter(Registry& registry, Letter& letter) {
  constexpr int kRevisionsMax = 10;
  for (int revisions = 0;; ++revisions) {
    std::optional<ledger::Change> instead;
    auto written = registry.write(letter.change, [&]() -> Result<void> {
      instead = letter.revise ? letter.revise(letter.change) : std::nullopt;
      if (!instead) return {};
      return std::unexpected(Error{ErrorCode::kUnavailable, "conflicting concurrent writes", ""});
    });
    if (written || !instead || revisions == kRevisionsMax) return written;
    letter.change = *std::move(instead);
  }
}

bool Outbox::write_first(Registry& registry) {
  Letter letter;
  {
    const std::lock_guard lock(mutex_);
    letter = letters_.front();
  }
  const std::int64_t begin_us = clock_.now_us();
  const auto written = write_letter(registry, letter);
  const bool is_unreachable = !written && written.error().code == ErrorCode::kUnavailable;
  if (is_unreachable) {
    const std::int64_t now_us = clock_.now_us();
    next_try_us_ = now_us + kPauseUs + kPauseFactor * (now_us - begin_us);
    if (!std::exchange(failed_, true))
      log_(true, "the audit log entry will be written when the policy database is back (" +
                     written.error().message + "): " + described(letter.change));
    return false;
  }
  if (!written)
    log_(true,
         "an audit log entry was dropped (" + written.error().message + "): " + described(letter.change));
  failed_ = false;
  const std::lock_guard lock(mutex_);
  letters_.pop_front();
  ++changes_;
  return true;
}

std::size_t Outbox::waiting() const {
  const std::lock_guard lock(mutex_);
  return letters_.size();
}

}  // namespace sluice::control

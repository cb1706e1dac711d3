#include "control/outbox.h"

#include <algorithm>
#include <filesystem>
#include <iterator>
#include <utility>

#include "base/limits.h"
#include "base/limits/switch_limits.h"
#include "base/secret/sealed_file.h"
#include "base/text/encode.h"
#include "base/text/utf8.h"
#include "base/try.h"
#include "control/access/token.h"
#include "telemetry/prometheus.h"

namespace sluice::control {
namespace {

// A call to a silent or locked database takes seconds to fail; other work must get most of the thread's time.
constexpr std::int64_t kPauseUs = 2'000'000, kPauseFactor = 4;
constexpr std::string_view kReplacement = "\uFFFD";
constexpr std::string_view kOutboxFormat = "sluice: an outbox";

std::string random_id() {
  const TokenEntropy random = token_entropy();
  return "outbox-" + to_hex({reinterpret_cast<const char*>(random.data()), random.size()});
}

// "open of switch by token ops-1"
std::string described(const ledger::Change& change) {
  const ledger::Draft& draft = change.drafts.front();
  return draft.action + " of " + draft.name + " by " + change.actor;
}

bool is_command(const ledger::Change& change) { return change.drafts.front().kind == ledger::Kind::kSwitch; }

// Makes a text one that the ledger accepts: UTF-8 without NUL.
void repair(std::string& text, std::size_t bytes_max) {
  text = as_utf8(text);
  for (std::size_t at = text.find('\0'); at != text.npos; at = text.find('\0', at))
    text.replace(at, 1, kReplacement);
  if (text.size() <= bytes_max) return;
  std::size_t end = bytes_max;
  while (end > 0 && utf8_length(std::string_view(text).substr(end)) == 0) --end;
  text.resize(end);
}

void repair(ledger::Change& change) {
  repair(change.actor, kActorBytesMax);
  repair(change.reason, kReasonBytesMax);
  for (ledger::Draft& draft : change.drafts) {
    repair(draft.name, kKeyBytesMax);
    repair(draft.body, kRecordBodyBytesMax);
  }
}

ledger::Change read_change(StrictFieldReader& reader) {
  ledger::Change change;
  change.actor = reader.text();
  change.reason = reader.text();
  change.at_us = reader.number();
  change.request_id = reader.text();
  for (std::int64_t left = reader.number(); reader.ok() && left > 0; --left) {
    ledger::Draft draft;
    const auto kind = ledger::kind_from(reader.text());
    if (!kind) reader.refuse();
    draft.kind = kind.value_or(ledger::Kind::kEvent);
    draft.name = reader.text();
    draft.action = reader.text();
    draft.body = reader.text();
    change.drafts.push_back(std::move(draft));
  }
  if (change.drafts.empty()) reader.refuse();
  return change;
}

void append_change(std::string& out, const ledger::Change& change) {
  append_field(out, change.actor);
  append_field(out, change.reason);
  append_field(out, std::to_string(change.at_us));
  append_field(out, change.request_id);
  append_field(out, std::to_string(change.drafts.size()));
  for (const ledger::Draft& draft : change.drafts) {
    append_field(out, to_string(draft.kind));
    append_field(out, draft.name);
    append_field(out, draft.action);
    append_field(out, draft.body);
  }
}

// Empty: there is no file. kFailedPrecondition: the file is damaged.
Result<std::vector<ledger::Change>> read_changes(const std::string& path) {
  std::vector<ledger::Change> changes;
  if (path.empty()) return changes;
  const auto bytes = read_sealed_file(path, kOutboxBytesMax);
  if (!bytes && bytes.error().code == ErrorCode::kNotFound) return changes;
  if (!bytes) return std::unexpected(bytes.error());
  StrictFieldReader reader(*bytes);
  const bool is_known = reader.text() == kOutboxFormat;
  while (is_known && !reader.at_end()) changes.push_back(read_change(reader));
  if (is_known && reader.ok()) return changes;
  return std::unexpected(
      Error{ErrorCode::kFailedPrecondition, path + ": this version of Sluice cannot read it", ""});
}

// Replaces the contents, durably. An empty list removes the file.
Result<void> write_changes(const std::string& path, const std::vector<ledger::Change>& changes) {
  if (changes.empty()) {
    std::error_code failed;
    std::filesystem::remove(path, failed);
    if (!failed) return {};
    return std::unexpected(Error{ErrorCode::kUnavailable, path + ": " + failed.message(), ""});
  }
  std::string bytes;
  append_field(bytes, kOutboxFormat);
  for (const ledger::Change& change : changes) append_change(bytes, change);
  if (bytes.size() > kOutboxBytesMax)
    return std::unexpected(Error{ErrorCode::kUnavailable, path + ": it would be too large", ""});
  return write_sealed_file(path, bytes);
}

}  // namespace

Outbox::Outbox(const Clock& clock, EventLog log, const std::string& state_dir, const std::string& of)
    : clock_(clock),
      log_(std::move(log)),
      path_(state_dir.empty() ? "" : state_dir + "/outbox-" + short_digest(of)) {}

void Outbox::post(ledger::Change change, Revise revise) {
  repair(change);
  if (change.request_id.empty()) change.request_id = random_id();
  Letter letter{std::move(change), std::move(revise)};
  std::optional<Letter> dropped;
  {
    const Lock lock(mutex_);
    const bool is_full = letters_.size() >= kOutboxMax;
    const bool is_taken = !is_full || is_command(letter.change);
    if (is_taken) {
      if (is_full) dropped = take_oldest_command();
      letters_.push_back(std::move(letter));
      ++changes_;
    } else {
      dropped = std::move(letter);
    }
  }
  if (dropped)
    log_(LogEvent::kAuditDropped,
         "an audit log entry was dropped, because too many are waiting for the policy database: " +
             described(dropped->change));
}

std::optional<Outbox::Letter> Outbox::take_oldest_command() {
  const auto oldest = std::find_if(std::next(letters_.begin()), letters_.end(),
                                   [](const Letter& letter) { return is_command(letter.change); });
  if (oldest == letters_.end()) return std::nullopt;
  Letter taken = std::move(*oldest);
  letters_.erase(oldest);
  return taken;
}

void Outbox::write(LedgerFollower& follower) {
  if (clock_.now_us() >= next_try_us_ && follower.is_loaded())
    while (waiting() > 0 && write_first(follower)) {
    }
  save();
}

// Whoever finds it busy waits, and usually finds its own change in the file then.
void Outbox::save() {
  const Lock saving(saving_);
  if (path_.empty()) {
    const Lock lock(mutex_);
    not_saved_ = letters_.empty() ? "" : "there is no folder for them";
    return;
  }
  std::vector<ledger::Change> changes;
  std::uint64_t number;
  {
    const Lock lock(mutex_);
    number = changes_;
    if (saved_ == number && not_saved_.empty()) return;
    for (const Letter& letter : letters_) changes.push_back(letter.change);
  }
  const auto saved = changes.empty() && !has_file_ ? Result<void>() : write_changes(path_, changes);
  std::string failed_before;
  {
    const Lock lock(mutex_);
    failed_before = std::exchange(not_saved_, saved ? "" : saved.error().message);
  }
  if (!saved && failed_before.empty())
    log_(LogEvent::kAuditNotSaved,
         "cannot save changes waiting for the policy database for the next start (" + saved.error().message +
             "); set a folder with --state-dir");
  if (!saved) return;
  has_file_ = !changes.empty();
  saved_ = number;
}

std::vector<ledger::Change> Outbox::take_up() {
  {
    const Lock saving(saving_);
    has_file_ = true;  // whatever it holds, it is removed when nothing waits
  }
  auto changes = read_changes(path_);
  if (changes) return *std::move(changes);
  log_(LogEvent::kAuditDropped,
       "changes that were waiting for the policy database when the last run ended are lost: " +
           changes.error().message);
  return {};
}

// Each further attempt means that others have written meanwhile. If the change was written before and only
// the answer was lost, returns that answer.
Result<std::vector<ledger::Record>> Outbox::write_letter(LedgerFollower& follower, Letter& letter) {
  constexpr int kRevisionsMax = 10;
  for (int revisions = 0;; ++revisions) {
    std::optional<ledger::Change> instead;
    auto written = follower.write(letter.change, [&]() -> Result<void> {
      instead = letter.revise ? letter.revise(letter.change) : std::nullopt;
      if (!instead) return {};
      return std::unexpected(Error{ErrorCode::kUnavailable, "conflicting concurrent writes", ""});
    });
    if (written || !instead || revisions == kRevisionsMax) return written;
    letter.change = *std::move(instead);
  }
}

bool Outbox::write_first(LedgerFollower& follower) {
  Letter letter;
  {
    const Lock lock(mutex_);
    letter = letters_.front();
  }
  const std::int64_t begin_us = clock_.now_us();
  const auto written = write_letter(follower, letter);
  const bool is_unreachable = !written && written.error().code == ErrorCode::kUnavailable;
  if (is_unreachable) {
    const std::int64_t now_us = clock_.now_us();
    next_try_us_ = now_us + kPauseUs + kPauseFactor * (now_us - begin_us);
    if (!std::exchange(failed_, true))
      log_(LogEvent::kAuditDelayed,
           "the audit log entry will be written when the policy database is back (" +
               written.error().message + "): " + described(letter.change) +
               (path_.empty() ? "; it would be lost with this process, because --state-dir is empty" : ""));
    return false;
  }
  if (!written)
    log_(LogEvent::kAuditDropped,
         "an audit log entry was dropped (" + written.error().message + "): " + described(letter.change));
  failed_ = false;
  const Lock lock(mutex_);
  letters_.pop_front();
  ++changes_;
  return true;
}

std::size_t Outbox::waiting() const {
  const Lock lock(mutex_);
  return letters_.size();
}

std::string Outbox::problem() const {
  const Lock lock(mutex_);
  if (letters_.empty() || not_saved_.empty()) return "";
  return std::to_string(letters_.size()) +
         " audit records wait for the policy database and would be lost with this process, because they "
         "cannot be saved (" +
         not_saved_ + "); " + (path_.empty() ? "set a folder" : "make room, or set another folder") +
         " with --state-dir";
}

std::string Outbox::metrics() const {
  PrometheusText text;
  text.family("rate_limiter_audit_records_waiting", "gauge",
              "Audit records waiting for the policy database.");
  text.sample({}, waiting());
  text.family("rate_limiter_audit_records_unsaved", "gauge",
              "Audit records that wait for the policy database and are not saved in --state-dir.");
  text.sample({}, problem().empty() ? 0 : waiting());
  return std::move(text).take();
}

}  // namespace sluice::control

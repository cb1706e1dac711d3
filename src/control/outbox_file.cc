#include "control/outbox_file.h"

#include <filesystem>
#include <utility>

#include "base/limits/switch_limits.h"
#include "base/secret/sealed_file.h"

namespace sluice::control {
namespace {

constexpr std::string_view kOutboxFormat = "sluice: an outbox";

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

}  // namespace

OutboxFile::OutboxFile(const std::string& state_dir, const std::string& of)
    : path_(state_dir.empty() ? "" : state_dir + "/outbox-" + short_digest(of)) {}

Result<std::vector<ledger::Change>> OutboxFile::read() const {
  std::vector<ledger::Change> changes;
  if (path_.empty()) return changes;
  const auto bytes = read_sealed_file(path_, kOutboxBytesMax);
  if (!bytes && bytes.error().code == ErrorCode::kNotFound) return changes;
  if (!bytes) return std::unexpected(bytes.error());
  StrictFieldReader reader(*bytes);
  const bool is_known = reader.text() == kOutboxFormat;
  while (is_known && !reader.at_end()) changes.push_back(read_change(reader));
  if (is_known && reader.ok()) return changes;
  return std::unexpected(
      Error{ErrorCode::kFailedPrecondition, path_ + ": this version of Sluice cannot read it", ""});
}

Result<void> OutboxFile::write(const std::vector<ledger::Change>& changes) const {
  if (path_.empty()) return {};
  if (changes.empty()) {
    std::error_code failed;
    std::filesystem::remove(path_, failed);
    if (!failed) return {};
    return std::unexpected(Error{ErrorCode::kUnavailable, path_ + ": " + failed.message(), ""});
  }
  std::string bytes;
  append_field(bytes, kOutboxFormat);
  for (const ledger::Change& change : changes) append_change(bytes, change);
  if (bytes.size() > kOutboxBytesMax)
    return std::unexpected(Error{ErrorCode::kUnavailable, path_ + ": it would be too large", ""});
  return write_sealed_file(path_, bytes);
}

}  // namespace sluice::control

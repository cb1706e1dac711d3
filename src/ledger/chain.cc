#include "ledger/chain.h"

#include <openssl/evp.h>

#include <cassert>
#include <set>
#include <tuple>

#include "base/limits.h"
#include "base/text/utf8.h"
#include "base/try.h"

namespace sluice::ledger {
namespace {

void append_field(std::string& out, std::string_view bytes) {
  for (int shift = 56; shift >= 0; shift -= 8) out.push_back(static_cast<char>(bytes.size() >> shift));
  out.append(bytes);
}
void append_field(std::string& out, std::int64_t number) { append_field(out, std::to_string(number)); }

std::string record_hash(std::string_view previous, const Record& record) {
  std::string bytes;
  append_field(bytes, previous);
  append_field(bytes, record.revision);
  append_field(bytes, to_string(record.kind));
  append_field(bytes, record.name);
  append_field(bytes, record.version);
  append_field(bytes, record.action);
  append_field(bytes, record.actor);
  append_field(bytes, record.at_us);
  append_field(bytes, record.request_id);
  append_field(bytes, record.reason);
  append_field(bytes, record.body_hash);
  return sha256(bytes);
}

enum class Presence { kNeeded, kOptional };

Result<void> check_text(std::string field, std::string_view text, std::size_t bytes_max, Presence presence) {
  if (presence == Presence::kNeeded && text.empty()) return invalid(std::move(field), "must not be empty");
  if (text.size() > bytes_max)
    return invalid(std::move(field), "must have at most " + std::to_string(bytes_max) + " bytes");
  if (!can_store(text)) return invalid(std::move(field), "must be UTF-8 without NUL");
  return {};
}

Result<void> validate_draft(const Draft& draft, const std::string& where) {
  SLUICE_TRY(check_text(where + ".name", draft.name, kKeyBytesMax, Presence::kNeeded));
  SLUICE_TRY(check_text(where + ".action", draft.action, kNameBytesMax, Presence::kNeeded));
  SLUICE_TRY(check_text(where + ".body", draft.body, kRecordBodyBytesMax, Presence::kOptional));
  if (draft.expected_version && *draft.expected_version < 0)
    return invalid(where + ".expected_version", "must be 0 or more");
  return {};
}

// The name of a document in messages.
std::string title(const Draft& draft) { return std::string(to_string(draft.kind)) + " '" + draft.name + "'"; }

std::unexpected<Error> broken(std::int64_t revision, const std::string& why) {
  return std::unexpected(
      Error{ErrorCode::kFailedPrecondition, "revision " + std::to_string(revision) + ": " + why, ""});
}

}  // namespace

bool can_store(std::string_view text) { return !text.contains('\0') && is_utf8(text); }

std::string sha256(std::string_view bytes) {
  std::string hash(kHashBytes, '\0');
  const int done = EVP_Digest(bytes.data(), bytes.size(), reinterpret_cast<unsigned char*>(hash.data()),
                              nullptr, EVP_sha256(), nullptr);
  assert(done == 1);
  static_cast<void>(done);
  return hash;
}

Result<void> validate(const Change& change) {
  if (change.drafts.empty()) return invalid("drafts", "must not be empty");
  if (change.drafts.size() > kDraftsPerChangeMax)
    return invalid("drafts", "must be at most " + std::to_string(kDraftsPerChangeMax));
  SLUICE_TRY(check_text("actor", change.actor, kActorBytesMax, Presence::kNeeded));
  SLUICE_TRY(check_text("reason", change.reason, kReasonBytesMax, Presence::kOptional));
  SLUICE_TRY(check_text("request_id", change.request_id, kRequestIdBytesMax, Presence::kOptional));
  std::size_t bytes = 0;
  std::set<std::pair<Kind, std::string_view>> named;
  for (std::size_t i = 0; i < change.drafts.size(); ++i) {
    const Draft& draft = change.drafts[i];
    const std::string where = "drafts[" + std::to_string(i) + "]";
    SLUICE_TRY(validate_draft(draft, where));
    if (!named.emplace(draft.kind, draft.name).second)
      return invalid(where + ".name", title(draft) + " is listed twice; list it once");
    bytes += draft.body.size();
  }
  if (bytes > kChangeBytesMax)
    return invalid("drafts", "must have at most " + std::to_string(kChangeBytesMax) + " bytes together");
  return {};
}

bool is_replay(const Change& change, std::span<const Record> records) {
  if (records.size() != change.drafts.size()) return false;
  for (std::size_t i = 0; i < records.size(); ++i) {
    const Draft& draft = change.drafts[i];
    const Record& record = records[i];
    if (std::tie(record.actor, record.request_id, record.reason) !=
        std::tie(change.actor, change.request_id, change.reason))
      return false;
    if (std::tie(record.kind, record.name, record.action) != std::tie(draft.kind, draft.name, draft.action))
      return false;
    if (record.body_hash != sha256(draft.body)) return false;
  }
  return true;
}

Result<std::vector<Record>> answer_again(const Change& change, std::vector<Record> records) {
  if (is_replay(change, records)) return records;
  return std::unexpected(Error{
      ErrorCode::kFailedPrecondition,
      "request id '" + change.request_id + "' was used for another change; use a new one", "request_id"});
}

Result<std::vector<std::int64_t>> check_expected(const Change& change, std::span<const Newest> newest,
                                                 std::int64_t last_revision) {
  assert(newest.size() == change.drafts.size());
  std::vector<std::int64_t> versions;
  versions.reserve(newest.size());
  for (std::size_t i = 0; i < newest.size(); ++i) {
    const Draft& draft = change.drafts[i];
    const auto [version, withdrawn] = newest[i];
    versions.push_back(version);
    if (draft.kind == Kind::kEvent || !draft.expected_version) continue;
    const std::int64_t expected = *draft.expected_version;
    if (expected == version || (expected == 0 && withdrawn)) continue;
    const std::string now = version == 0 ? " does not exist" : " is at version " + std::to_string(version);
    return std::unexpected(
        Error{ErrorCode::kStale,
              title(draft) + now + ", not at version " + std::to_string(expected) + "; read it and try again",
              "drafts[" + std::to_string(i) + "].expected_version"});
  }
  if (change.expected_revision && *change.expected_revision != last_revision)
    return std::unexpected(Error{ErrorCode::kStale,
                                 "the ledger is at revision " + std::to_string(last_revision) +
                                     ", not at revision " + std::to_string(*change.expected_revision) +
                                     "; read what is new and decide again",
                                 "expected_revision"});
  return versions;
}

std::vector<Record> link(const Change& change, std::span<const std::int64_t> versions,
                         std::int64_t last_revision, std::string_view last_hash) {
  assert(versions.size() == change.drafts.size());
  std::vector<Record> records;
  records.reserve(change.drafts.size());
  for (std::size_t i = 0; i < change.drafts.size(); ++i) {
    const Draft& draft = change.drafts[i];
    Record record{.revision = ++last_revision,
                  .kind = draft.kind,
                  .name = draft.name,
                  .version = draft.kind == Kind::kEvent ? 0 : versions[i] + 1,
                  .action = draft.action,
                  .body = draft.body,
                  .actor = change.actor,
                  .reason = change.reason,
                  .at_us = change.at_us,
                  .request_id = change.request_id,
                  .body_hash = sha256(draft.body)};
    record.hash = record_hash(records.empty() ? last_hash : records.back().hash, record);
    records.push_back(std::move(record));
  }
  return records;
}

std::string unlinked_hash(const Record& record) { return record_hash("", record); }

Result<void> verify_body(const Record& record) {
  if (record.body_hash == sha256(record.body)) return {};
  return broken(record.revision, "its body is not what was written");
}

Result<void> ChainVerifier::feed(const Record& record) {
  const std::int64_t expected = revision_ + 1;
  if (record.revision != expected)
    return broken(expected, "it is missing; revision " + std::to_string(record.revision) + " follows");
  SLUICE_TRY(verify_body(record));
  if (record.hash != record_hash(hash_, record))
    return broken(expected, "its hash does not match; it or a record before it was changed");
  revision_ = expected;
  hash_ = record.hash;
  return {};
}

}  // namespace sluice::ledger

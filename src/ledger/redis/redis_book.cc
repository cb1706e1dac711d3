#include "ledger/redis/redis_book.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "base/limits.h"
#include "base/limits/control_limits.h"
#include "base/try.h"
#include "ledger/anchor.h"
#include "ledger/redis/redis_advice.h"
#include "ledger/redis/redis_script.h"

namespace sluice::ledger {
namespace {

constexpr std::size_t kRecordsPerPage = 1000;
constexpr std::string_view kFieldsPerPage = "1000";

RedisFailure ours(Error error) { return {.error = std::move(error)}; }

}  // namespace

RedisBook::RedisBook(const redis::StoreTarget& target, RedisLedgerOptions options)
    : options_(std::move(options)),
      keys_(options_.key_prefix),
      session_(target, std::string(redis_ledger_script())) {}

RedisResult<RedisReply> RedisBook::ask(std::span<const std::string_view> words) {
  for (std::uint32_t hops = 0;; ++hops) {
    SLUICE_TRY(prepare());
    auto reply = session_.ask(words);
    if (reply || reply.error().kind != redis::ServerError::kMoved || hops == kRedisHopsMax) return reply;
  }
}

RedisResult<RedisReply> RedisBook::run(std::span<const std::string> words) {
  SLUICE_TRY(prepare());
  const std::string sha = session_.script_sha();
  std::vector<std::string_view> command = {"EVALSHA", sha, "2", keys_.ledger, keys_.documents};
  command.insert(command.end(), words.begin(), words.end());
  auto reply = ask(command);
  if (reply || reply.error().kind != redis::ServerError::kNoScript) return reply;
  command[0] = "EVAL";
  command[1] = redis_ledger_script();
  return ask(command);
}

RedisResult<void> RedisBook::prepare() {
  for (std::uint32_t hops = 0;; ++hops) {
    if (auto connected = session_.connect(); !connected) return std::unexpected(ours(connected.error()));
    if (recognized_ == session_.connections_made()) return {};
    const std::int64_t connection = session_.connections_made();
    auto same = recognize();
    if (same) {
      recognized_ = connection;
      give_advice();
      return {};
    }
    same.error().unknown = false;  // the caller's own command was not sent yet
    if (same.error().kind != redis::ServerError::kMoved || hops == kRedisHopsMax) return same;
  }
}

// Checks that the server has the ledger that we know.
RedisResult<void> RedisBook::recognize() {
  // This comes first: if there are documents, a head was written before them.
  const std::string_view count[] = {"ZCARD", keys_.documents};
  const auto documents = SLUICE_TRY(session_.ask(count));
  const std::string known = record_field(newest_.revision);
  const std::string_view words[] = {"HMGET", keys_.ledger, "head", "format", known};
  const auto reply = SLUICE_TRY(session_.ask(words));
  if (reply.size() != 4)
    return std::unexpected(ours(
        {ErrorCode::kUnavailable, session_.name() + " sent an unexpected reply; is it a Redis server?", ""}));
  const RedisValue &head = reply.at(1), &format = reply.at(2), &record = reply.at(3);
  if (head.is_nothing() && documents.front().integer > 0) return std::unexpected(ours(lost_documents()));
  if (head.is_nothing() && options_.must_exist)
    return std::unexpected(
        ours({ErrorCode::kInvalidArgument,
              session_.name() + " has no Sluice policies under the prefix '" + options_.key_prefix +
                  "'; use the Redis and the prefix that the server uses",
              ""}));
  if (!format.is_nothing() && format.bytes != kRedisFormat)
    return std::unexpected(ours(
        {ErrorCode::kInvalidArgument,
         "the policies in Redis have format " + format.bytes + ", but this version of Sluice supports only " +
             std::string(kRedisFormat) + "; use the version that wrote them, or another --key-prefix",
         ""}));
  if (newest_.revision > 0) {
    const auto found = decode(newest_.revision, record.bytes);
    const bool is_there = !record.is_nothing() && found && found->hash == newest_.hash;
    if (!is_there && !(record.is_nothing() && was_removed_as_old(newest_)))
      return std::unexpected(ours(lost(newest_.revision)));
  }
  if (auto noted = note_head(head.bytes); !noted) return std::unexpected(ours(noted.error()));
  return {};
}

// The anchor has the hash of the last record that may be missing.
bool RedisBook::was_removed_as_old(const Head& newest) {
  const std::string field = newest_field(document_name(Kind::kRetention, kAnchorName));
  const std::string_view where[] = {"HGET", keys_.ledger, field};
  const auto listed = session_.ask(where);
  if (!listed) return false;
  const std::int64_t revision = read_numbers(listed->front().bytes).third;
  const std::string place = record_field(revision);
  const std::string_view what[] = {"HGET", keys_.ledger, place};
  const auto found = session_.ask(what);
  if (!found || found->front().is_nothing()) return false;
  const auto record = decode(revision, found->front().bytes);
  const auto anchor = record ? read_anchor(*record) : Result<Anchor>(std::unexpected(record.error()));
  return anchor && anchor->revision == newest.revision && anchor->hash == newest.hash;
}

// A user without the right to ask gets less advice, but no error.
void RedisBook::give_advice() {
  if (!options_.on_advice) return;
  redis::ServerFacts facts;
  redis::read_info(info("memory"), facts);
  RedisPersistence persistence{std::nullopt, setting("save"), setting("appendfsync")};
  const std::string text = info("persistence");
  if (text.contains("\naof_enabled:")) persistence.appends = text.contains("\naof_enabled:1");
  if (!session_.is_connected()) return;
  std::vector<std::string> advice = advise_policy_database(session_.server(), facts, persistence);
  if (advice == advice_) return;
  advice_ = std::move(advice);
  options_.on_advice(advice_);
}

std::string RedisBook::info(std::string_view section) {
  const std::string_view words[] = {"INFO", section};
  auto reply = session_.ask(words);
  return reply ? std::move(reply->front().bytes) : "";
}

std::optional<std::string> RedisBook::setting(std::string_view name) {
  const std::string_view words[] = {"CONFIG", "GET", name};
  auto reply = session_.ask(words);
  if (!reply || reply->size() != 3) return std::nullopt;
  return std::move(reply->at(2).bytes);
}

Result<Head> RedisBook::head() {
  const std::string words[] = {"look"};
  const auto reply = SLUICE_TRY(run(words));
  if (reply.size() != 3)
    return std::unexpected(
        Error{ErrorCode::kUnavailable, session_.name() + " sent an unexpected reply; check the server", ""});
  auto head = note_head(reply.at(1).bytes);
  if (!head || reply.at(2).integer == 1) return head;
  SLUICE_TRY(mend());
  return head;
}

Result<void> RedisBook::mend() {
  if (options_.must_exist) return std::unexpected(lost_documents());  // read-only tools write nothing
  std::string cursor = "0";
  bool is_whole = false;
  do {
    const auto page =
        SLUICE_TRY(ask({"HSCAN", keys_.ledger, cursor, "MATCH", "n*", "COUNT", kFieldsPerPage}));
    cursor = page.at(1).bytes;
    std::vector<std::string> words = {"restore"};
    for (std::size_t i = 3; i < page.size(); i += 2) words.push_back(page.at(i).bytes.substr(1));
    const auto restored = SLUICE_TRY(run(words));
    is_whole = restored.front().integer == 1;
  } while (cursor != "0");
  if (!is_whole) return std::unexpected(lost_documents());
  return {};
}

Result<Head> RedisBook::note_head(std::string_view text) {
  auto head = read_head(text);
  if (!head)
    return std::unexpected(Error{
        ErrorCode::kUnavailable,
        "the field head of " + keys_.ledger + " cannot be read; was the database changed by hand?", ""});
  if (head->revision < newest_.revision) return std::unexpected(lost(head->revision + 1));
  newest_ = *head;
  return std::move(*head);
}

Result<std::vector<Record>> RedisBook::read(std::span<const std::int64_t> revisions) {
  std::vector<Record> records;
  while (!revisions.empty()) {
    auto portion = SLUICE_TRY(read_some(revisions));
    std::ranges::move(portion.records, std::back_inserter(records));
    revisions = revisions.subspan(portion.revisions);
  }
  return records;
}

Result<RedisBook::Portion> RedisBook::read_some(std::span<const std::int64_t> revisions) {
  std::vector<std::string> words = {"read", std::to_string(kLedgerPageBytes)};
  for (const std::int64_t revision : revisions.first(std::min(revisions.size(), kRecordsPerPage)))
    words.push_back(std::to_string(revision));
  const auto reply = SLUICE_TRY(run(words));
  Portion portion{.revisions = reply.size() - 1, .records = {}};  // without the array itself
  if (portion.revisions == 0 || portion.revisions > revisions.size())
    return std::unexpected(
        Error{ErrorCode::kUnavailable, session_.name() + " sent an unexpected reply; check the server", ""});
  for (std::size_t i = 0; i < portion.revisions; ++i) {
    const RedisValue& value = reply.at(i + 1);
    if (value.is_nothing()) continue;
    auto record = SLUICE_TRY(decode(revisions[i], value.bytes));
    portion.records.push_back(std::move(record));
  }
  return portion;
}

Error RedisBook::lost(std::int64_t revision) const {
  return {ErrorCode::kUnavailable,
          session_.name() + " has lost policies that were there, from revision " + std::to_string(revision) +
              " on at the latest (a restart without persistence, or a failover?); restore its data, or "
              "remove every node's copy (database-… in its --state-dir) and restart every Sluice node to "
              "continue with what it has",
          ""};
}

Error RedisBook::lost_documents() const {
  return {ErrorCode::kUnavailable,
          session_.name() + " has lost policies that were there: " + keys_.ledger + " and " +
              keys_.documents +
              " do not match (does its maxmemory-policy evict keys?); restore its data, or "
              "delete both to start over",
          ""};
}

}  // namespace sluice::ledger

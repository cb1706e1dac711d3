#include "ledger/redis/redis_ledger.h"

#include <algorithm>
#include <iterator>
#include <numeric>
#include <utility>

#include "base/try.h"
#include "ledger/chain.h"
#include "ledger/record_page.h"
#include "ledger/record_row.h"
#include "ledger/redis/redis_append.h"

namespace sluice::ledger {
namespace {

constexpr std::int64_t kAskEveryUs = 500'000;
constexpr int kPauseWhenAwayMs = 500;
constexpr int kTickMs = 100;
constexpr std::int64_t kRevisionsPerPage = 1000;

// Adds what there is room for.
void add(RecordPage& page, std::vector<Record>& records) {
  for (Record& record : records)
    if (!page.is_full()) page.add(std::move(record));
}

}  // namespace

RedisLedger::RedisLedger(const redis::StoreTarget& target, RedisLedgerOptions options)
    : book_(target, std::move(options)),
      name_(target.to_string()),
      subscription_(book_.session().transport(), book_.session().clock(), book_.keys().ledger) {}

Result<std::vector<Record>> RedisLedger::append(const Change& change, std::span<const Record> removed) {
  SLUICE_TRY(validate(change));
  return append_to(book_, change, removed);
}

Result<std::int64_t> RedisLedger::revision() {
  const auto head = SLUICE_TRY(book_.head());
  return head.revision;
}

Result<std::vector<Record>> RedisLedger::read_after(std::int64_t revision, std::size_t max) {
  const auto end = SLUICE_TRY(this->revision());
  RecordPage page(max);
  // Old records may be missing, so each request asks for as many as there is still room for.
  for (std::int64_t at = std::max(revision, std::int64_t{0}); at < end && !page.is_full();) {
    std::vector<std::int64_t> revisions(
        static_cast<std::size_t>(std::min({end - at, row_count(page.room()), kRevisionsPerPage})));
    std::iota(revisions.begin(), revisions.end(), at + 1);
    auto portion = SLUICE_TRY(book_.read_some(revisions));
    add(page, portion.records);
    at += static_cast<std::int64_t>(portion.revisions);
  }
  return std::move(page).take();
}

// In pages, so that no command takes long. A document that is written meanwhile moves beyond `end` and is
// left out; the caller reads it after that revision anyway.
Result<void> RedisLedger::for_each_document(const std::function<void(Record&&)>& visit) {
  const auto end = SLUICE_TRY(revision());
  Result<void> whole;
  for (std::int64_t at = 0;;) {
    const auto page = SLUICE_TRY(newest_revisions(at, end));
    if (page.empty()) return whole;
    at = page.back();
    auto records = SLUICE_TRY(book_.read(page));
    const auto gap = std::ranges::mismatch(page, records, {}, {}, &Record::revision);
    if (whole && gap.in1 != page.end()) whole = std::unexpected(missing_record(*gap.in1));
    for (Record& record : records) visit(std::move(record));
  }
}

Result<void> RedisLedger::for_each_listing(const std::function<void(Listing&&)>& visit) {
  const auto end = SLUICE_TRY(revision());
  for (std::string above = "-inf";;) {
    const auto page =
        SLUICE_TRY(book_.ask({"ZRANGEBYSCORE", book_.keys().documents, above, std::to_string(end),
                              "WITHSCORES", "LIMIT", "0", std::to_string(kRevisionsPerPage)}));
    if (page.size() < 3) return {};
    std::vector<std::string> documents, fields;
    for (std::size_t at = 1; at + 1 < page.size(); at += 2) {
      documents.emplace_back(page.at(at).bytes);
      fields.push_back(newest_field(documents.back()));
    }
    above = "(" + std::string(page.back().bytes);
    std::vector<std::string_view> words = {"HMGET", book_.keys().ledger};
    words.insert(words.end(), fields.begin(), fields.end());
    const auto newest = SLUICE_TRY(book_.ask(words));
    for (std::size_t i = 0; i < documents.size(); ++i) {
      Listing listing = read_listing(documents[i], newest.at(i + 1).bytes);
      // The set has the revision, too. If they differ, and not because the document was written just now,
      // report both, for the comparison to find.
      if (const std::int64_t in_set = read_numbers(page.at(2 * i + 2).bytes).first;
          in_set != listing.revision && listing.revision <= end) {
        Listing other = listing;
        other.revision = in_set;
        visit(std::move(other));
      }
      visit(std::move(listing));
    }
  }
}

Result<std::vector<std::int64_t>> RedisLedger::newest_revisions(std::int64_t above, std::int64_t to) {
  const auto reply = SLUICE_TRY(
      book_.ask({"ZRANGEBYSCORE", book_.keys().documents, "(" + std::to_string(above), std::to_string(to),
                 "WITHSCORES", "LIMIT", "0", std::to_string(kRevisionsPerPage)}));
  std::vector<std::int64_t> revisions;
  for (std::size_t at = 2; at < reply.size(); at += 2)
    revisions.push_back(read_numbers(reply.at(at).bytes).first);
  return revisions;
}

Result<std::optional<Record>> RedisLedger::find(Kind kind, std::string_view name, std::int64_t version) {
  const auto reply = SLUICE_TRY(book_.ask({"HGET", book_.keys().ledger, version_field(kind, name, version)}));
  if (reply.front().is_nothing()) return std::nullopt;
  const std::int64_t revision = read_numbers(reply.front().bytes).first;
  auto records = SLUICE_TRY(book_.read({&revision, 1}));
  if (records.empty()) return std::nullopt;
  return std::move(records.front());
}

Result<std::vector<Record>> RedisLedger::find_request(const std::string& actor,
                                                      const std::string& request_id) {
  if (request_id.empty()) return std::vector<Record>{};
  const auto reply = SLUICE_TRY(book_.ask({"HGET", book_.keys().ledger, request_field(actor, request_id)}));
  return read_change(book_, read_numbers(reply.front().bytes));
}

Result<std::int64_t> RedisLedger::newest_version(Kind kind, std::string_view name) {
  const auto reply = SLUICE_TRY(book_.ask({"HGET", book_.keys().ledger, newest_field(kind, name)}));
  return read_numbers(reply.front().bytes).first;
}

Result<std::vector<Record>> RedisLedger::history(Kind kind, std::string_view name, std::int64_t version,
                                                 std::size_t max) {
  const auto newest = SLUICE_TRY(newest_version(kind, name));
  RecordPage page(max);
  for (std::int64_t at = std::min(version - 1, newest); at > 0 && !page.is_full();) {
    const auto count = std::min({at, row_count(page.room()), kRevisionsPerPage});
    const auto revisions = SLUICE_TRY(revisions_of(kind, name, at, count));
    auto portion = SLUICE_TRY(book_.read_some(revisions));
    add(page, portion.records);
    at -= static_cast<std::int64_t>(portion.revisions);
  }
  return std::move(page).take();
}

// Versions have no gaps, except for old ones that were removed.
Result<std::vector<std::int64_t>> RedisLedger::revisions_of(Kind kind, std::string_view name,
                                                            std::int64_t version, std::int64_t count) {
  std::vector<std::string> fields;
  for (std::int64_t i = 0; i < count; ++i) fields.push_back(version_field(kind, name, version - i));
  std::vector<std::string_view> words = {"HMGET", book_.keys().ledger};
  words.insert(words.end(), fields.begin(), fields.end());
  const auto reply = SLUICE_TRY(book_.ask(words));
  std::vector<std::int64_t> revisions;
  for (const RedisValue& value : std::span(reply).subspan(1))
    revisions.push_back(read_numbers(value.bytes).first);
  return revisions;
}

bool RedisLedger::wait(int timeout_ms) {
  RedisClient& session = book_.session();
  const std::int64_t begin_us = session.clock().now_us();
  const std::int64_t end_us = begin_us + std::max(timeout_ms, 0) * std::int64_t{1000};
  const std::int64_t away_us = std::min(end_us, begin_us + kPauseWhenAwayMs * std::int64_t{1000});
  for (int step_ms = 0;; step_ms = kTickMs) {
    const std::int64_t left_us = end_us - session.clock().now_us();
    session.step(std::clamp(static_cast<int>((left_us + 999) / 1000), 0, step_ms));
    const std::int64_t now_us = session.clock().now_us();
    if (interrupted_.exchange(false)) return session.is_connected();
    if (session.is_connected()) {
      subscription_.tick(now_us, session.server());
      if (has_news()) return true;
      if (!subscription_.is_listening() && now_us >= ask_at_us_) {
        ask_at_us_ = now_us + kAskEveryUs;
        const auto moved = has_moved();
        if (!moved || *moved) return moved.has_value();
      }
      if (now_us >= end_us) return true;
    } else if (now_us >= away_us) {
      return false;
    }
  }
}

// Changes before a connection, or before the subscription began, were not announced.
bool RedisLedger::has_news() {
  const std::int64_t connection = book_.session().connections_made(), beginning = subscription_.beginnings();
  const bool is_new = std::exchange(watched_connection_, connection) != connection;
  const bool begins = std::exchange(watched_beginning_, beginning) != beginning;
  return subscription_.take_heard() || is_new || begins;
}

std::optional<bool> RedisLedger::has_moved() {
  const auto seen = revision();
  if (!seen) return std::nullopt;
  return std::exchange(watched_revision_, *seen) != *seen;
}

void RedisLedger::start_over() noexcept { book_.session().distrust(); }

void RedisLedger::interrupt() {
  interrupted_ = true;
  book_.session().wake();
}

}  // namespace sluice::ledger

#include "ledger/redis/redis_append.h"

#include <algorithm>
#include <iterator>
#include <numeric>
#include <optional>
#include <set>
#include <utility>

#include "base/limits.h"
#include "base/try.h"
#include "ledger/chain.h"

namespace sluice::ledger {
namespace {

// Each further attempt means that another process has written.
constexpr int kAttemptsMax = 1000;
// Time to find out whether a change was written after its reply was lost.
constexpr std::int64_t kFindOutUs = 5'000'000;
constexpr int kPauseMs = 50;

// The state on which a change depends, read by one command and so at one moment.
struct Present {
  Head head;
  RedisNumbers earlier;        // of the same request id: first revision and number of records
  std::vector<Newest> newest;  // for each draft
  RedisValue doubtful;         // the record at the revision of the attempt in doubt
};

// An attempt to write.
struct Attempt {
  Head expected;
  std::vector<Record> records;
};

class Appender {
 public:
  Appender(RedisBook& book, const Change& change, std::span<const Record> removed)
      : book_(book), change_(change), removed_(removed) {}

  Result<std::vector<Record>> run() {
    for (int attempt = 0; attempt < kAttemptsMax; ++attempt) {
      auto outcome = try_once();
      if (outcome && *outcome) return std::move(**outcome);
      if (outcome) continue;
      Error& error = outcome.error().error;
      if (!in_doubt_) return std::unexpected(std::move(error));
      if (error.code != ErrorCode::kUnavailable || now_us() >= give_up_at_us_) {
        error.message +=
            "; the change may or may not have been written: send it again with the same request id";
        return std::unexpected(std::move(error));
      }
      book_.session().step(kPauseMs);
    }
    return std::unexpected(Error{ErrorCode::kUnavailable, "too many concurrent writes; try again", ""});
  }

 private:
  // Nothing: another process was faster.
  using Outcome = RedisResult<std::optional<std::vector<Record>>>;

  std::int64_t now_us() { return book_.session().clock().now_us(); }
  static std::unexpected<RedisFailure> fail(Error error) {
    return std::unexpected(RedisFailure{.error = std::move(error)});
  }

  Outcome try_once() {
    auto present = SLUICE_TRY(read_present());
    if (in_doubt_) {
      if (is_in(present)) return std::move(in_doubt_->records);
      // If the head has changed, the script will refuse that attempt, should it still arrive. If it is the
      // same, the next attempt is equal to that one, record by record, and only one of them can succeed.
      if (present.head.text() != in_doubt_->expected.text()) in_doubt_.reset();
    }
    if (present.earlier.second > 0) return read_again(present.earlier);
    const auto versions = check_expected(change_, present.newest, present.head.revision);
    if (!versions) return fail(versions.error());
    return write({present.head, link(change_, *versions, present.head.revision, present.head.hash)});
  }

  bool is_in(const Present& present) const {
    const Record& first = in_doubt_->records.front();
    const auto found = decode(first.revision, present.doubtful.bytes);
    return found && found->hash == first.hash;
  }

  RedisResult<Present> read_present() {
    std::vector<std::string> fields = {"head"};
    fields.push_back(change_.request_id.empty() ? "" : request_field(change_.actor, change_.request_id));
    fields.push_back(in_doubt_ ? record_field(in_doubt_->records.front().revision) : "");
    for (const Draft& draft : change_.drafts)  // for an event: a field that never exists
      fields.push_back(newest_field(draft.kind, draft.name));
    std::vector<std::string_view> words = {"HMGET", book_.keys().ledger};
    words.insert(words.end(), fields.begin(), fields.end());
    const auto reply = SLUICE_TRY(book_.ask(words));
    if (reply.size() != fields.size() + 1)
      return fail({ErrorCode::kUnavailable,
                   book_.session().name() + " sent an unexpected reply; check the server", ""});
    auto head = book_.note_head(reply.at(1).bytes);
    if (!head) return fail(head.error());
    Present present{std::move(*head), read_numbers(reply.at(2).bytes), {}, reply.at(3)};
    for (const RedisValue& value : std::span(reply).subspan(4)) {
      const RedisNumbers numbers = read_numbers(value.bytes);
      present.newest.push_back({numbers.first, numbers.second != 0});
    }
    return present;
  }

  Outcome read_again(const RedisNumbers& earlier) {
    auto records = read_change(book_, earlier);
    if (!records) return fail(records.error());
    auto answer = answer_again(change_, std::move(*records));
    if (!answer) return fail(answer.error());
    return std::move(*answer);
  }

  Outcome write(Attempt attempt) {
    const auto reply = book_.run(words_of(attempt));
    if (!reply) {
      if (reply.error().unknown) {
        in_doubt_ = std::move(attempt);
        if (give_up_at_us_ == 0) give_up_at_us_ = now_us() + kFindOutUs;
      }
      return std::unexpected(reply.error());
    }
    if (reply->front().integer == -1)
      if (auto mended = book_.mend(); !mended) return fail(mended.error());
    if (reply->front().integer != 1) return std::nullopt;
    const Record& last = attempt.records.back();
    if (auto noted = book_.note_head(Head{last.revision, last.hash}.text()); !noted)
      return fail(noted.error());
    return std::move(attempt.records);
  }

  std::vector<std::string> words_of(const Attempt& attempt) const {
    std::vector<std::string> documents, fields, removed;
    for (const Record& record : attempt.records) {
      const std::string revision = std::to_string(record.revision);
      fields.insert(fields.end(), {record_field(record.revision), encode(record)});
      if (record.kind == Kind::kEvent) continue;
      documents.insert(documents.end(), {revision, document_name(record.kind, record.name)});
      fields.insert(fields.end(),
                    {newest_field(record.kind, record.name),
                     std::to_string(record.version) + (record.is_withdrawn() ? " 1 " : " 0 ") + revision});
      fields.insert(fields.end(), {version_field(record.kind, record.name, record.version), revision});
    }
    const Record& last = attempt.records.back();
    if (!change_.request_id.empty())
      fields.insert(fields.end(), {request_field(change_.actor, change_.request_id),
                                   std::to_string(attempt.records.front().revision) + " " +
                                       std::to_string(attempt.records.size())});
    fields.insert(fields.end(), {"format", std::string(kRedisFormat)});
    fields.insert(fields.end(), {"head", Head{last.revision, last.hash}.text()});
    std::set<std::string> requests;
    for (const Record& record : removed_) {
      removed.push_back(record_field(record.revision));
      if (record.kind != Kind::kEvent)
        removed.push_back(version_field(record.kind, record.name, record.version));
      if (!record.request_id.empty()) requests.insert(request_field(record.actor, record.request_id));
    }
    std::vector<std::string> words = {"append", attempt.expected.text(), std::to_string(documents.size() / 2),
                                      std::to_string(removed.size()), std::to_string(requests.size())};
    removed.insert(removed.end(), requests.begin(), requests.end());
    for (auto* more : {&documents, &removed, &fields})
      words.insert(words.end(), std::make_move_iterator(more->begin()), std::make_move_iterator(more->end()));
    return words;
  }

  RedisBook& book_;
  const Change& change_;
  const std::span<const Record> removed_;
  std::optional<Attempt> in_doubt_;  // the attempt that was sent and got no reply
  std::int64_t give_up_at_us_ = 0;   // set once an attempt was in doubt
};

}  // namespace

Result<std::vector<Record>> read_change(RedisBook& book, const RedisNumbers& first_and_count) {
  if (first_and_count.second <= 0) return std::vector<Record>{};
  std::vector<std::int64_t> revisions(
      std::min(static_cast<std::size_t>(first_and_count.second), kDraftsPerChangeMax));
  std::iota(revisions.begin(), revisions.end(), first_and_count.first);
  return book.read(revisions);
}

Result<std::vector<Record>> append_to(RedisBook& book, const Change& change,
                                      std::span<const Record> removed) {
  return Appender(book, change, removed).run();
}

}  // namespace sluice::ledger

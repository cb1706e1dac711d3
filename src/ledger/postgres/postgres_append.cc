#include "ledger/postgres/postgres_append.h"

#include "base/try.h"
#include "ledger/chain.h"
#include "ledger/record_row.h"

namespace sluice::ledger {
namespace {

constexpr int kAttemptsMax = 10;

// The state on which a change depends, read under the lock.
struct Present {
  std::int64_t revision = 0;
  std::string hash;
  std::vector<Record> earlier;  // with the same request id
  std::vector<Newest> newest;   // for each draft
};

// Takes the lock first: what is read afterwards cannot change until the transaction ends.
PostgresResult<Present> lock_and_read(PostgresConnection& connection, const Change& change) {
  std::vector<PostgresQuery> queries;
  queries.emplace_back("BEGIN ISOLATION LEVEL READ COMMITTED");
  queries.emplace_back("SELECT revision, hash FROM sluice_head WHERE id = 1 FOR UPDATE");
  queries.push_back(find_by_request(change.actor, change.request_id));
  for (const Draft& draft : change.drafts) {
    queries.emplace_back("SELECT version, withdrawn FROM sluice_documents WHERE kind = $1 AND name = $2");
    queries.back().bytes(to_string(draft.kind)).bytes(draft.name);
  }
  const auto answers = SLUICE_TRY(connection.run(queries));
  const PostgresRows& head = answers.at(1);
  if (head.size() == 0)
    return std::unexpected(PostgresError{
        {ErrorCode::kUnavailable, "the row of sluice_head is missing; restore the tables from a backup", ""},
        "XX000"});
  auto earlier = to_records(answers.at(2));
  if (!earlier) return std::unexpected(PostgresError{earlier.error(), "XX000"});
  Present present{head[0].get_number(0), head[0].get_text(1), std::move(*earlier), {}};
  for (const PostgresRows& rows : std::span(answers).subspan(3))
    present.newest.push_back(rows.size() == 0 ? Newest{}
                                              : Newest{rows[0].get_number(0), rows[0].get_number(1) != 0});
  return present;
}

void add_insert(std::vector<PostgresQuery>& queries, const Record& record) {
  queries.emplace_back(
      "INSERT INTO sluice_records VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12)");
  queries.back().number(record.revision).bytes(to_string(record.kind)).bytes(record.name);
  queries.back().number(record.version).bytes(record.action).bytes(record.body).bytes(record.actor);
  queries.back().bytes(record.reason).number(record.at_us).bytes(record.request_id);
  queries.back().bytes(record.body_hash).bytes(record.hash);
  if (record.kind == Kind::kEvent) return;
  queries.emplace_back(
      "INSERT INTO sluice_documents VALUES ($1, $2, $3, $4, $5) ON CONFLICT (kind, name) DO UPDATE SET "
      "version = excluded.version, withdrawn = excluded.withdrawn, revision = excluded.revision");
  queries.back().bytes(to_string(record.kind)).bytes(record.name).number(record.version);
  queries.back().number(record.is_withdrawn() ? 1 : 0).number(record.revision);
}

// "1,4,5": one value for one statement, however many there are.
std::string list_of(std::span<const Record> records) {
  std::string list;
  for (const Record& record : records) list += (list.empty() ? "" : ",") + std::to_string(record.revision);
  return list;
}

PostgresResult<void> write_and_commit(PostgresConnection& connection, const std::vector<Record>& records,
                                      const PostgresAppend& append) {
  std::vector<PostgresQuery> queries;
  for (const Record& record : records) add_insert(queries, record);
  const std::string removed = list_of(append.removed);
  if (!removed.empty()) {
    queries.emplace_back(
        "DELETE FROM sluice_records WHERE revision IN "
        "(SELECT CAST(each AS BIGINT) FROM unnest(string_to_array($1, ',')) AS each)");
    queries.back().bytes(removed);
  }
  queries.emplace_back("UPDATE sluice_head SET revision = $1, hash = $2 WHERE id = 1");
  queries.back().number(records.back().revision).bytes(records.back().hash);
  if (append.notify == Notify::kYes) queries.emplace_back("NOTIFY sluice_ledger");
  queries.emplace_back("COMMIT");
  auto done = connection.run(queries);
  if (done) return {};
  if (done.error().state.empty())
    done.error().error.message +=
        "; the change may or may not have been written: send it again with the same request id";
  return std::unexpected(done.error());
}

// When this returns, the transaction is still open, unless it wrote the change.
PostgresResult<std::vector<Record>> try_once(PostgresConnection& connection, const PostgresAppend& append) {
  const Change& change = append.change;
  auto present = SLUICE_TRY(lock_and_read(connection, change));
  const auto ours = [](Error error) { return std::unexpected(PostgresError{std::move(error), "00000"}); };
  if (!present.earlier.empty()) {
    auto answer = answer_again(change, std::move(present.earlier));
    if (!answer) return ours(answer.error());
    return std::move(*answer);
  }
  const auto versions = check_expected(change, present.newest, present.revision);
  if (!versions) return ours(versions.error());
  std::vector<Record> records = link(change, *versions, present.revision, present.hash);
  SLUICE_TRY(write_and_commit(connection, records, append));
  return records;
}

bool wants_repetition(const PostgresError& error) {
  return error.state == "40001" || error.state == "40P01";  // serialization failure; deadlock
}

}  // namespace

PostgresQuery find_by_request(const std::string& actor, const std::string& request_id) {
  PostgresQuery query(
      "SELECT * FROM sluice_records WHERE request_id = $1 AND request_id <> '' AND actor = $2 ORDER BY "
      "revision");
  query.bytes(request_id).bytes(actor);
  return query;
}

Result<std::vector<Record>> to_records(const PostgresRows& rows) {
  std::vector<Record> records;
  for (int row = 0; row < rows.size(); ++row) {
    auto record = SLUICE_TRY(record_from(rows[row]));
    records.push_back(std::move(record));
  }
  return records;
}

Result<std::vector<Record>> append_to(PostgresConnection& connection, const PostgresAppend& append) {
  for (int attempt = 1;; ++attempt) {
    auto result = try_once(connection, append);
    if (connection.is_in_transaction()) {
      // If this fails, the connection is lost, and the transaction with it.
      [[maybe_unused]] const auto over = connection.run(PostgresQuery("ROLLBACK"));
    }
    if (result) return std::move(*result);
    if (!wants_repetition(result.error()) || attempt == kAttemptsMax)
      return std::unexpected(result.error().error);
  }
}

}  // namespace sluice::ledger

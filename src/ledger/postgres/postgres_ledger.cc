#include "ledger/postgres/postgres_ledger.h"

#include <algorithm>
#include <iterator>
#include <limits>

#include "base/try.h"
#include "ledger/chain.h"
#include "ledger/postgres/postgres_append.h"
#include "ledger/record_row.h"

namespace sluice::ledger {
namespace {

constexpr int kAskEveryMs = 500;
constexpr int kPauseWhenAwayMs = 500;
constexpr std::int64_t kListingsPerPage = 1000;
constexpr std::int64_t kPageBytesMin = 64 << 10;
constexpr std::int64_t kBytesPerRow = 1024;  // so many rows per page that this is left for each

constexpr std::size_t kWithoutBound = std::numeric_limits<std::size_t>::max();
constexpr const char* kCanceled = "57014";  // SQLSTATE of a statement that took too long

constexpr std::int64_t kFormat = 1;
constexpr int kMakeAttemptsMax = 10;

// Plain SQL, which other databases with the same protocol accept, too. Each statement can be repeated. The
// row of sluice_head comes last: if it is there, everything is.
constexpr const char* kMakeTables[] = {
    R"(CREATE TABLE IF NOT EXISTS sluice_records (
         revision BIGINT PRIMARY KEY, kind TEXT NOT NULL, name TEXT NOT NULL, version BIGINT NOT NULL,
         action TEXT NOT NULL, body TEXT NOT NULL, actor TEXT NOT NULL, reason TEXT NOT NULL, at_us BIGINT NOT NULL,
         request_id TEXT NOT NULL, body_hash BYTEA NOT NULL, hash BYTEA NOT NULL))",
    R"(CREATE UNIQUE INDEX IF NOT EXISTS sluice_records_by_version ON sluice_records (kind, name, version)
         WHERE version > 0)",
    R"(CREATE INDEX IF NOT EXISTS sluice_records_by_request ON sluice_records (request_id, actor)
         WHERE request_id <> '')",
    R"(CREATE TABLE IF NOT EXISTS sluice_documents (
         kind TEXT NOT NULL, name TEXT NOT NULL, version BIGINT NOT NULL, withdrawn BOOLEAN NOT NULL,
         revision BIGINT NOT NULL, PRIMARY KEY (kind, name)))",
    "CREATE UNIQUE INDEX IF NOT EXISTS sluice_documents_by_revision ON sluice_documents (revision)",
    R"(CREATE TABLE IF NOT EXISTS sluice_head (
         id BIGINT PRIMARY KEY, format BIGINT NOT NULL, revision BIGINT NOT NULL, hash BYTEA NOT NULL))",
    "INSERT INTO sluice_head VALUES (1, 1, 0, '') ON CONFLICT (id) DO NOTHING",
};

// Pages of records, at most $1 rows. The server adds up the bodies, whose lengths it knows without reading
// them, and ends the page where they have $2 bytes; see Ledger::read_after().
constexpr const char* kReadAfter = R"(
  SELECT * FROM (
    SELECT p.*, row_number() OVER (ORDER BY revision) AS nth,
      sum(octet_length(body)) OVER (ORDER BY revision) - octet_length(body) AS bytes_before
    FROM (SELECT * FROM sluice_records WHERE revision > $3 ORDER BY revision LIMIT $1) p) page
  WHERE nth <= 2 OR bytes_before < $2 ORDER BY revision)";
constexpr const char* kReadHistory = R"(
  SELECT * FROM (
    SELECT p.*, row_number() OVER (ORDER BY version DESC) AS nth,
      sum(octet_length(body)) OVER (ORDER BY version DESC) - octet_length(body) AS bytes_before
    FROM (SELECT * FROM sluice_records WHERE kind = $3 AND name = $4 AND version > 0 AND version < $5
          ORDER BY version DESC LIMIT $1) p) page
  WHERE nth <= 2 OR bytes_before < $2 ORDER BY version DESC)";
constexpr const char* kReadRequest = R"(
  SELECT * FROM (
    SELECT p.*, row_number() OVER (ORDER BY revision) AS nth,
      sum(octet_length(body)) OVER (ORDER BY revision) - octet_length(body) AS bytes_before
    FROM (SELECT * FROM sluice_records WHERE request_id = $3 AND request_id <> '' AND actor = $4
          AND revision > $5 ORDER BY revision LIMIT $1) p) page
  WHERE nth <= 2 OR bytes_before < $2 ORDER BY revision)";
// The newest versions of documents. Limited before the join: without statistics the planner would join
// everything first.
constexpr const char* kReadDocuments = R"(
  SELECT * FROM (
    SELECT d.revision, r.kind, r.name, r.version, r.action, r.body, r.actor, r.reason, r.at_us, r.request_id,
      r.body_hash, r.hash, row_number() OVER (ORDER BY d.revision) AS nth,
      sum(coalesce(octet_length(r.body), 0)) OVER (ORDER BY d.revision) - coalesce(octet_length(r.body), 0)
        AS bytes_before
    FROM (SELECT revision FROM sluice_documents WHERE revision > $3 AND revision <= $4
          ORDER BY revision LIMIT $1) d
    LEFT JOIN sluice_records r ON r.revision = d.revision) page
  WHERE nth <= 2 OR bytes_before < $2 ORDER BY revision)";
static_assert(kLedgerPageMin == 2);

PostgresQuery page_query(const char* sql, std::int64_t rows, std::int64_t bytes) {
  PostgresQuery query(sql);
  query.number(rows).number(bytes);
  return query;
}

// The format version of the tables; 0: some are missing.
PostgresResult<std::int64_t> format_of(PostgresConnection& connection) {
  constexpr const char* kNoSuchTable = "42P01";
  const auto found = connection.run(PostgresQuery("SELECT format FROM sluice_head WHERE id = 1"));
  if (!found && found.error().state == kNoSuchTable) return 0;
  if (!found) return std::unexpected(found.error());
  return found->size() == 0 ? 0 : (*found)[0].get_number(0);
}

PostgresResult<void> make_all(PostgresConnection& connection) {
  for (const char* sql : kMakeTables) SLUICE_TRY(connection.run(PostgresQuery(sql)));
  return {};
}

PostgresResult<void> check_format(std::int64_t format) {
  if (format == kFormat) return {};
  return std::unexpected(
      PostgresError{{ErrorCode::kInvalidArgument,
                     "the tables in PostgreSQL have format " + std::to_string(format) +
                         ", but this version of Sluice supports only " + std::to_string(kFormat) +
                         "; use the version that made them, or another database",
                     ""},
                    "XX000"});
}

// Creates the tables if they do not exist; several processes may do so at once. A user without the right to
// create tables can use existing ones.
PostgresResult<void> make_tables(PostgresConnection& connection) {
  auto format = format_of(connection);
  // IF NOT EXISTS checks and then creates: if another process does the same, one of them may fail in between.
  for (int attempt = 1; format && *format == 0; ++attempt) {
    const auto made = make_all(connection);
    if (!made && (made.error().state.empty() || attempt == kMakeAttemptsMax)) return made;
    format = format_of(connection);
  }
  if (!format) return std::unexpected(format.error());
  return check_format(*format);
}

// kInvalidArgument: the tables do not exist.
PostgresResult<void> find_tables(PostgresConnection& connection) {
  const auto format = SLUICE_TRY(format_of(connection));
  if (format != 0) return check_format(format);
  return std::unexpected(
      PostgresError{{ErrorCode::kInvalidArgument,
                     "this PostgreSQL database has no Sluice tables; use the one that the server uses", ""},
                    "XX000"});
}

}  // namespace

Result<std::unique_ptr<PostgresLedger>> PostgresLedger::open(const std::string& url, Options options) {
  auto name = SLUICE_TRY(PostgresConnection::name_of(url));
  return std::unique_ptr<PostgresLedger>(new PostgresLedger(url, std::move(name), options));
}

Result<PostgresConnection*> PostgresLedger::connected() {
  if (connection_ != nullptr && connection_->is_alive()) return connection_.get();
  connection_.reset();
  auto made = SLUICE_TRY(PostgresConnection::open(url_));
  SLUICE_TRY(options_.make_tables ? make_tables(*made) : find_tables(*made));
  listens_ = false;
  if (options_.listen) {
    const auto listening = made->run(PostgresQuery(kPostgresListen));
    if (!listening && listening.error().state.empty()) return std::unexpected(listening.error().error);
    listens_ = listening.has_value();
  }
  connection_ = std::move(made);
  ++connections_made_;
  return connection_.get();
}

Result<PostgresRows> PostgresLedger::ask(const PostgresQuery& query) {
  const auto connection = SLUICE_TRY(connected());
  auto rows = connection->run(query);
  if (rows) return std::move(*rows);
  connection_.reset();
  if (rows.error().state == kCanceled) page_bytes_ = std::max(page_bytes_ / 2, kPageBytesMin);
  return std::unexpected(rows.error().error);
}

template <class Query>
Result<PostgresRows> PostgresLedger::ask_page(std::size_t max, const Query& query) {
  const auto ask_once = [&] {
    return ask(query(std::min(row_count(max), page_bytes_ / kBytesPerRow), page_bytes_));
  };
  const std::int64_t bytes = page_bytes_;
  auto rows = ask_once();
  return rows || page_bytes_ == bytes ? std::move(rows) : ask_once();
}

template <class Query>
Result<std::vector<Record>> PostgresLedger::ask_records(std::size_t max, const Query& query) {
  const auto rows = SLUICE_TRY(ask_page(max, query));
  return to_records(rows);
}

Result<std::vector<Record>> PostgresLedger::append(const Change& change, std::span<const Record> removed) {
  SLUICE_TRY(validate(change));
  const auto connection = SLUICE_TRY(connected());
  auto written = append_to(*connection, {change, removed, listens_ ? Notify::kYes : Notify::kNo});
  if (!written && written.error().code == ErrorCode::kUnavailable) connection_.reset();
  return written;
}

Result<std::int64_t> PostgresLedger::revision() {
  const auto rows = SLUICE_TRY(ask(PostgresQuery("SELECT revision FROM sluice_head WHERE id = 1")));
  return rows.size() == 0 ? 0 : rows[0].get_number(0);
}

Result<std::vector<Record>> PostgresLedger::read_after(std::int64_t revision, std::size_t max) {
  return ask_records(max, [&](std::int64_t rows, std::int64_t bytes) {
    return page_query(kReadAfter, rows, bytes).number(revision);
  });
}

// In pages, so that no statement takes long. A document that is written meanwhile moves beyond `end` and is
// left out; the caller reads it after that revision anyway.
Result<void> PostgresLedger::for_each_document(const std::function<void(Record&&)>& visit) {
  const auto end = SLUICE_TRY(revision());
  Result<void> whole;
  for (std::int64_t at = 0;;) {
    const auto page = SLUICE_TRY(ask_page(kWithoutBound, [&](std::int64_t rows, std::int64_t bytes) {
      return page_query(kReadDocuments, rows, bytes).number(at).number(end);
    }));
    if (page.size() == 0) break;
    for (int i = 0; i < page.size(); ++i) {
      at = page[i].get_number(0);
      auto record = record_from(page[i]);
      if (record)
        visit(std::move(*record));
      else if (whole)
        whole = std::unexpected(std::move(record.error()));
    }
  }
  return whole;
}

Result<void> PostgresLedger::for_each_listing(const std::function<void(Listing&&)>& visit) {
  for (std::int64_t at = INT64_MIN;;) {
    const auto rows =
        SLUICE_TRY(ask(PostgresQuery("SELECT kind, name, version, withdrawn, revision "
                                     "FROM sluice_documents WHERE revision > $1 ORDER BY revision LIMIT $2")
                           .number(at)
                           .number(kListingsPerPage)));
    if (rows.size() == 0) return {};
    for (int i = 0; i < rows.size(); ++i) {
      Listing listing = listing_from(rows[i]);
      at = listing.revision;
      visit(std::move(listing));
    }
  }
}

Result<std::optional<Record>> PostgresLedger::find(Kind kind, std::string_view name, std::int64_t version) {
  if (!can_store(name)) return std::nullopt;
  const auto rows =
      SLUICE_TRY(ask(PostgresQuery("SELECT * FROM sluice_records "
                                   "WHERE kind = $1 AND name = $2 AND version = $3 AND version > 0")
                         .bytes(to_string(kind))
                         .bytes(name)
                         .number(version)));
  auto found = SLUICE_TRY(to_records(rows));
  if (found.empty()) return std::nullopt;
  return std::move(found.front());
}

Result<std::vector<Record>> PostgresLedger::history(Kind kind, std::string_view name, std::int64_t version,
                                                    std::size_t max) {
  if (!can_store(name)) return std::vector<Record>{};
  return ask_records(max, [&](std::int64_t rows, std::int64_t bytes) {
    return page_query(kReadHistory, rows, bytes).bytes(to_string(kind)).bytes(name).number(version);
  });
}

Result<std::vector<Record>> PostgresLedger::find_request(const std::string& actor,
                                                         const std::string& request_id) {
  std::vector<Record> records;
  if (!can_store(actor) || !can_store(request_id)) return records;
  while (true) {
    const std::int64_t at = records.empty() ? 0 : records.back().revision;
    auto page = SLUICE_TRY(ask_records(kWithoutBound, [&](std::int64_t rows, std::int64_t bytes) {
      return page_query(kReadRequest, rows, bytes).bytes(request_id).bytes(actor).number(at);
    }));
    if (page.empty()) return records;
    std::ranges::move(page, std::back_inserter(records));
  }
}

bool PostgresLedger::wait(int timeout_ms) {
  const int time_ms = std::max(timeout_ms, 0);
  if (!connected()) return away(time_ms);
  if (watched_connection_ != connections_made_) {  // changes before this connection were not announced to it
    watched_connection_ = connections_made_;
    return true;
  }
  return listens_ ? wait_for_notification(time_ms) : wait_by_asking(time_ms);
}

bool PostgresLedger::wait_for_notification(int timeout_ms) {
  // A notification may have arrived together with an answer.
  if (!connection_->take_notified()) interrupter_.pause(timeout_ms, connection_->socket());
  const bool alive = connection_->is_alive();
  connection_->take_notified();
  if (!alive) connection_.reset();
  return alive;
}

bool PostgresLedger::wait_by_asking(int timeout_ms) {
  for (int left_ms = timeout_ms;;) {
    const auto seen = revision();
    if (!seen) return away(left_ms);
    if (*seen != watched_revision_) {
      watched_revision_ = *seen;
      return true;
    }
    const int pause_ms = std::min(left_ms, kAskEveryMs);
    if (interrupter_.pause(pause_ms) || left_ms == pause_ms) return true;
    left_ms -= pause_ms;
  }
}

bool PostgresLedger::away(int timeout_ms) {
  interrupter_.pause(std::min(timeout_ms, kPauseWhenAwayMs));
  return false;
}

}  // namespace sluice::ledger

#include "ledger/postgres/postgres_schema.h"

#include "base/try.h"

namespace sluice::ledger {
namespace {

constexpr std::int64_t kFormat = 1;
constexpr int kSchemaAttemptsMax = 10;

// Each statement can be repeated. The row of sluice_head comes last: if it is there, everything is.
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

}  // namespace

PostgresResult<void> make_postgres_tables(PostgresConnection& connection) {
  auto format = format_of(connection);
  // IF NOT EXISTS checks and then creates: if another process does the same, one of them may fail in between.
  for (int attempt = 1; format && *format == 0; ++attempt) {
    const auto made = make_all(connection);
    if (!made && (made.error().state.empty() || attempt == kSchemaAttemptsMax)) return made;
    format = format_of(connection);
  }
  if (!format) return std::unexpected(format.error());
  return check_format(*format);
}

PostgresResult<void> find_postgres_tables(PostgresConnection& connection) {
  const auto format = SLUICE_TRY(format_of(connection));
  if (format != 0) return check_format(format);
  return std::unexpected(
      PostgresError{{ErrorCode::kInvalidArgument,
                     "this PostgreSQL database has no Sluice tables; use the one that the server uses", ""},
                    "XX000"});
}

}  // namespace sluice::ledger

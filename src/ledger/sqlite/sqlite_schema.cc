#include "ledger/sqlite/sqlite_schema.h"

#include <cstdint>

#include "base/try.h"

namespace sluice::ledger {
namespace {

constexpr std::int64_t kApplication = 0x536c7569;  // "Slui": identifies our files
constexpr std::int64_t kSchema = 1;

// `documents` has the revision of each newest version, so that loading does not read the history.
constexpr const char* kMakeTables = R"(
  CREATE TABLE records (
    revision INTEGER PRIMARY KEY, kind TEXT NOT NULL, name TEXT NOT NULL, version INTEGER NOT NULL,
    action TEXT NOT NULL, body TEXT NOT NULL, actor TEXT NOT NULL, reason TEXT NOT NULL, at_us INTEGER NOT NULL,
    request_id TEXT NOT NULL, body_hash BLOB NOT NULL, hash BLOB NOT NULL) STRICT;
  CREATE UNIQUE INDEX records_by_version ON records (kind, name, version) WHERE version > 0;
  CREATE INDEX records_by_request ON records (request_id, actor) WHERE request_id <> '';
  CREATE TABLE documents (
    kind TEXT NOT NULL, name TEXT NOT NULL, version INTEGER NOT NULL, withdrawn INTEGER NOT NULL,
    revision INTEGER NOT NULL, PRIMARY KEY (kind, name)) STRICT, WITHOUT ROWID;
  PRAGMA application_id = 0x536c7569;
  PRAGMA user_version = 1;
)";

}  // namespace

Result<bool> has_our_tables(SqliteDatabase& database, const std::string& name) {
  const auto application = SLUICE_TRY(database.number("PRAGMA application_id"));
  if (application != kApplication) {
    const auto tables = SLUICE_TRY(database.number("SELECT count(*) FROM sqlite_schema"));
    if (tables == 0) return false;
    return invalid("", name + " belongs to another application; use another file");
  }
  const auto schema = SLUICE_TRY(database.number("PRAGMA user_version"));
  if (schema == kSchema) return true;
  return invalid("", name + " has format " + std::to_string(schema) +
                         ", but this version of Sluice supports only " + std::to_string(kSchema) +
                         "; use the version that made it, or another file");
}

Result<void> make_our_tables(SqliteDatabase& database, const std::string& name) {
  SqliteTransaction transaction(database);
  SLUICE_TRY(transaction.begin());
  const auto present = SLUICE_TRY(has_our_tables(database, name));
  if (present) return {};
  SLUICE_TRY(database.run(kMakeTables));
  return transaction.commit();
}

}  // namespace sluice::ledger

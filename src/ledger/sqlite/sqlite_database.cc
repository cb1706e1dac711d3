#include "ledger/sqlite/sqlite_database.h"

#include <sqlite3.h>

#include <cassert>
#include <cstring>

#include "base/try.h"

namespace sluice::ledger {
namespace {

// Other processes hold the write lock for milliseconds; one that holds it longer is stuck.
constexpr int kBusyMs = 3000;

std::string system_reason(sqlite3* handle) {
  const int number = sqlite3_system_errno(handle);
  return number == 0 ? sqlite3_errmsg(handle) : std::strerror(number);
}

Error explain(int status, sqlite3* handle, const std::string& name) {
  const auto away = [](std::string message) {
    return Error{ErrorCode::kUnavailable, std::move(message), ""};
  };
  switch (status & 0xff) {
    case SQLITE_NOTADB:
      return {ErrorCode::kInvalidArgument, name + " is not a database; name another file", ""};
    case SQLITE_CORRUPT:
      return away(name + " is corrupt; restore it from a backup");
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
      return away(name + " is locked by another process; find out which one holds it");
    case SQLITE_FULL:
      return away(name + " cannot grow; free some space on its disk");
    case SQLITE_READONLY:
    case SQLITE_PERM:
    case SQLITE_AUTH:
      return away(name + " is read-only for this process; grant it write access to the file and its folder");
    case SQLITE_CANTOPEN:
      return away(name + " cannot be opened: " + system_reason(handle) + "; check the file and its folder");
    case SQLITE_IOERR:
      return away(name + " cannot be read or written: " + system_reason(handle) + "; check its disk");
    default:
      return away(name + " failed: " + sqlite3_errmsg(handle) + "; check the file");
  }
}

}  // namespace

SqliteQuery::SqliteQuery(sqlite3* handle, sqlite3_stmt* statement, int status, const std::string& name)
    : handle_(handle), statement_(statement), status_(status), name_(name) {}

SqliteQuery::~SqliteQuery() {
  sqlite3_reset(statement_);
  sqlite3_clear_bindings(statement_);
}

SqliteQuery& SqliteQuery::number(std::int64_t value) {
  if (status_ == SQLITE_OK) status_ = sqlite3_bind_int64(statement_, ++bound_, value);
  return *this;
}

SqliteQuery& SqliteQuery::text(std::string_view value) {
  // A null address would mean NULL.
  const char* bytes = value.empty() ? "" : value.data();
  if (status_ == SQLITE_OK)
    status_ = sqlite3_bind_text64(statement_, ++bound_, bytes, value.size(), SQLITE_STATIC, SQLITE_UTF8);
  return *this;
}

SqliteQuery& SqliteQuery::blob(std::string_view value) {
  if (status_ == SQLITE_OK)
    status_ = sqlite3_bind_blob64(statement_, ++bound_, value.data(), value.size(), SQLITE_STATIC);
  return *this;
}

Result<bool> SqliteQuery::next() {
  if (status_ == SQLITE_OK) {
    const int status = sqlite3_step(statement_);
    if (status == SQLITE_ROW) return true;
    if (status == SQLITE_DONE) return false;
    status_ = status;
  }
  return std::unexpected(explain(status_, handle_, name_));
}

Result<void> SqliteQuery::run() {
  SLUICE_TRY(next());
  return {};
}

std::int64_t SqliteQuery::get_number(int column) const { return sqlite3_column_int64(statement_, column); }

std::string SqliteQuery::get_text(int column) const {
  // In this order: reading may convert the value and so change its size.
  const auto* bytes = static_cast<const char*>(sqlite3_column_blob(statement_, column));
  const int size = sqlite3_column_bytes(statement_, column);
  return bytes == nullptr ? std::string() : std::string(bytes, static_cast<std::size_t>(size));
}

Result<std::unique_ptr<SqliteDatabase>> SqliteDatabase::open(const std::string& path, std::string name) {
  sqlite3* handle = nullptr;
  const int status = sqlite3_open_v2(
      path.c_str(), &handle, SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_EXRESCODE, nullptr);
  std::unique_ptr<SqliteDatabase> database(new SqliteDatabase(handle, std::move(name)));
  if (status != SQLITE_OK) return std::unexpected(explain(status, handle, database->name_));
  sqlite3_busy_timeout(handle, kBusyMs);
  return database;
}

SqliteDatabase::~SqliteDatabase() {
  for (const auto& [sql, statement] : statements_) sqlite3_finalize(statement);
  sqlite3_close(handle_);
}

SqliteQuery SqliteDatabase::query(const char* sql) {
  sqlite3_stmt*& statement = statements_[sql];
  int status = SQLITE_OK;
  if (statement == nullptr)
    status = sqlite3_prepare_v3(handle_, sql, -1, SQLITE_PREPARE_PERSISTENT, &statement, nullptr);
  return {handle_, statement, status, name_};
}

Result<void> SqliteDatabase::run(const char* sql) {
  const int status = sqlite3_exec(handle_, sql, nullptr, nullptr, nullptr);
  if (status != SQLITE_OK) return std::unexpected(explain(status, handle_, name_));
  return {};
}

Result<std::int64_t> SqliteDatabase::number(const char* sql) {
  SqliteQuery asked = query(sql);
  const bool row = SLUICE_TRY(asked.next());
  return row ? asked.get_number(0) : 0;
}

SqliteTransaction::~SqliteTransaction() {
  // After some errors SQLite has already rolled back, and then this fails: either way the transaction is
  // over.
  if (!open_) return;
  [[maybe_unused]] const auto over = database_.run("ROLLBACK");
}

Result<void> SqliteTransaction::begin() {
  auto begun = database_.run("BEGIN IMMEDIATE");
  open_ = begun.has_value();
  return begun;
}

Result<void> SqliteTransaction::commit() {
  auto done = database_.run("COMMIT");
  if (done) open_ = false;
  return done;
}

}  // namespace sluice::ledger

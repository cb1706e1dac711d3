#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>

#include "base/error.h"

struct sqlite3;
struct sqlite3_stmt;

namespace sluice::ledger {

// A running statement: bind its values in order, then read its rows. Not thread-safe. Errors before next()
// are kept and returned by it.
//
//   SqliteQuery query = database.query("SELECT body FROM records WHERE kind = ? AND version = ?");
//   query.text("policy").number(3);
//   for (auto row = query.next(); …; row = query.next()) …
class SqliteQuery {
 public:
  SqliteQuery(sqlite3* handle, sqlite3_stmt* statement, int status, const std::string& name);
  ~SqliteQuery();  // makes the statement available again
  SqliteQuery(const SqliteQuery&) = delete;
  SqliteQuery& operator=(const SqliteQuery&) = delete;

  // The values must live as long as the query.
  SqliteQuery& number(std::int64_t value);
  SqliteQuery& text(std::string_view value);
  SqliteQuery& blob(std::string_view value);

  // True: there is a row; read it with the functions below. False: no more rows.
  Result<bool> next();
  // For statements without rows.
  Result<void> run();

  std::int64_t get_number(int column) const;
  std::string get_text(int column) const;  // TEXT and BLOB

 private:
  sqlite3* handle_;
  sqlite3_stmt* statement_;  // owned by the database
  int status_;               // SQLITE_OK, or the first error
  int bound_ = 0;
  const std::string& name_;
};

// A connection to an SQLite file. Not thread-safe. Every error is one sentence that names the file.
class SqliteDatabase {
 public:
  // Opens an existing file. `name` stands for it in messages.
  static Result<std::unique_ptr<SqliteDatabase>> open(const std::string& path, std::string name);
  ~SqliteDatabase();
  SqliteDatabase(const SqliteDatabase&) = delete;
  SqliteDatabase& operator=(const SqliteDatabase&) = delete;

  // A statement is compiled once and kept. REQUIRES: `sql` is a literal; its previous query is destroyed.
  SqliteQuery query(const char* sql);
  // Runs one or more statements without values; their rows are ignored.
  Result<void> run(const char* sql);
  // The first number of the first row.
  Result<std::int64_t> number(const char* sql);

 private:
  SqliteDatabase(sqlite3* handle, std::string name) : handle_(handle), name_(std::move(name)) {}

  sqlite3* handle_;
  const std::string name_;
  std::map<const char*, sqlite3_stmt*> statements_;
};

// BEGIN IMMEDIATE … COMMIT, or ROLLBACK if it is destroyed before commit. Not thread-safe.
class SqliteTransaction {
 public:
  explicit SqliteTransaction(SqliteDatabase& database) : database_(database) {}
  ~SqliteTransaction();
  SqliteTransaction(const SqliteTransaction&) = delete;
  SqliteTransaction& operator=(const SqliteTransaction&) = delete;

  Result<void> begin();
  Result<void> commit();

 private:
  SqliteDatabase& database_;
  bool open_ = false;
};

}  // namespace sluice::ledger

#pragma once

#include <cstdint>
#include <expected>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"

struct pg_conn;
struct pg_result;

namespace sluice::ledger {

// A statement with its values ($1, $2, … in order). REQUIRES: `sql` is a literal, and the texts live until it
// has run.
class PostgresQuery {
 public:
  explicit PostgresQuery(const char* sql) : sql_(sql) {}
  PostgresQuery& number(std::int64_t value);
  PostgresQuery& bytes(std::string_view value);  // TEXT and BYTEA

 private:
  friend class PostgresConnection;
  struct Value {
    std::string number;  // in decimal; empty: use `bytes`
    std::string_view bytes;
  };
  const char* sql_;
  std::vector<Value> values_;
};

// One row of a result. A plain value; must not outlive its PostgresRows.
class PostgresRow {
 public:
  PostgresRow(const pg_result* result, int row) : result_(result), row_(row) {}

  std::int64_t get_number(int column) const;  // integers and booleans
  std::string get_text(int column) const;     // TEXT and BYTEA

 private:
  const pg_result* result_;
  int row_;
};

// The result of a statement. Movable, immutable.
class PostgresRows {
 public:
  explicit PostgresRows(pg_result* result) : result_(result) {}

  int size() const;
  PostgresRow operator[](int row) const { return {result_.get(), row}; }

 private:
  struct Clear {
    void operator()(pg_result* result) const;
  };
  std::unique_ptr<pg_result, Clear> result_;
};

struct PostgresError {
  Error error;
  std::string state;  // SQLSTATE; empty: the connection was lost, and the outcome is unknown

  // For those who need to know only what went wrong.
  operator Error() && { return std::move(error); }  // NOLINT(google-explicit-constructor)
};
template <class T>
using PostgresResult = std::expected<T, PostgresError>;

// A connection to PostgreSQL, or to a server that speaks its protocol. Not thread-safe. Every call returns: a
// server that is silent for some seconds counts as lost. After a loss, is_alive() is false and the connection
// cannot be used any more.
class PostgresConnection {
 public:
  // The location in the URL, without user, password and options; kInvalidArgument if libpq cannot parse it.
  static Result<std::string> name_of(const std::string& url);

  static PostgresResult<std::unique_ptr<PostgresConnection>> open(const std::string& url);
  ~PostgresConnection();
  PostgresConnection(const PostgresConnection&) = delete;
  PostgresConnection& operator=(const PostgresConnection&) = delete;

  // Sends all queries and waits for all answers: one round trip. After the first error the remaining queries
  // are not run.
  PostgresResult<std::vector<PostgresRows>> run(std::span<const PostgresQuery> queries);
  PostgresResult<PostgresRows> run(const PostgresQuery& query);

  bool is_alive();
  bool is_in_transaction() const;
  int socket() const;
  // Whether another connection has sent a NOTIFY since the last call.
  bool take_notified();

 private:
  struct Statement {
    enum class State : std::uint8_t { kUnknown, kSent, kPrepared };  // whether the server has the statement
    std::string name;
    State state = State::kUnknown;
  };
  // An answer that is outstanding: of a preparation, or of a query.
  struct Due {
    Statement* prepared = nullptr;
  };

  PostgresConnection(pg_conn* handle, const std::string& url);

  bool send(const PostgresQuery& query, std::vector<Due>& due);
  PostgresResult<std::vector<PostgresRows>> receive(std::span<const Due> due);
  // Waits until something was sent or received. False: timeout, or the connection was closed.
  bool exchange();
  void note_notifications();
  PostgresError lost(const char* what);
  PostgresError refused(const pg_result* result) const;
  std::string without_secrets(std::string text) const;

  pg_conn* handle_;
  std::string name_;
  std::vector<std::string> secrets_;
  std::map<const char*, Statement> statements_;
  bool lost_ = false;
  bool notified_ = false;
};

}  // namespace sluice::ledger

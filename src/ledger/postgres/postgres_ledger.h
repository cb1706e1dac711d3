#pragma once

#include <memory>
#include <string>

#include "base/limits/control_limits.h"
#include "ledger/interrupter.h"
#include "ledger/ledger.h"
#include "ledger/postgres/postgres_connection.h"

namespace sluice::ledger {

// A ledger in PostgreSQL, or in a database that speaks its protocol, such as CockroachDB: for several
// machines. Belongs to one thread, like every Ledger.
//
// The tables sluice_… are created on first use. Changes are serialized by a lock on one row. If the server
// supports LISTEN, wait() ends as soon as another process has written; otherwise within half a second. If a
// connection is lost in the middle of append(), it is unknown whether the change was written: send it again
// with the same request id, and it is written once.
class PostgresLedger final : public Ledger {
 public:
  struct Options {
    bool listen = true;       // false: behave as if the server had no LISTEN
    bool make_tables = true;  // false: a database without the tables is kInvalidArgument; for read-only tools
  };
  // `url` is passed to libpq as it is: postgres://user:password@host:port/database?sslmode=…. Does not
  // connect; kInvalidArgument if the URL cannot be parsed.
  static Result<std::unique_ptr<PostgresLedger>> open(const std::string& url, Options options);

  using Ledger::append;
  Result<std::vector<Record>> append(const Change& change, std::span<const Record> removed) override;
  Result<std::int64_t> revision() override;
  Result<std::vector<Record>> read_after(std::int64_t revision, std::size_t max) override;
  Result<void> for_each_document(const std::function<void(Record&&)>& visit) override;
  Result<void> for_each_listing(const std::function<void(Listing&&)>& visit) override;
  Result<std::optional<Record>> find(Kind kind, std::string_view name, std::int64_t version) override;
  Result<std::vector<Record>> history(Kind kind, std::string_view name, std::int64_t version,
                                      std::size_t max) override;
  Result<std::vector<Record>> find_request(const std::string& actor, const std::string& request_id) override;
  bool wait(int timeout_ms) override;
  void interrupt() override { interrupter_.ring(); }
  void start_over() noexcept override { connection_.reset(); }
  std::string name() const override { return name_; }

 private:
  PostgresLedger(const std::string& url, std::string name, Options options)
      : url_(url), name_(std::move(name)), options_(options) {}

  Result<PostgresConnection*> connected();
  // Runs one query. After an error the connection is dropped, and the next call reconnects; after a timeout,
  // pages are halved.
  Result<PostgresRows> ask(const PostgresQuery& query);
  // Runs `query(rows, bytes)` for one page. If the server takes too long, runs it once more for half a page;
  // pages stay that small.
  template <class Query>
  Result<PostgresRows> ask_page(std::size_t max, const Query& query);
  template <class Query>
  Result<std::vector<Record>> ask_records(std::size_t max, const Query& query);

  bool wait_for_notification(int timeout_ms);
  bool wait_by_asking(int timeout_ms);
  // There is nothing to watch: returns false after a short pause.
  bool away(int timeout_ms);

  const std::string url_;
  const std::string name_;
  const Options options_;
  std::unique_ptr<PostgresConnection> connection_;
  bool listens_ = false;  // whether the current connection listens
  std::int64_t page_bytes_ = static_cast<std::int64_t>(kLedgerPageBytes);  // less after a statement timeout
  std::int64_t connections_made_ = 0;
  std::int64_t watched_connection_ = 0;  // what the last wait() saw
  std::int64_t watched_revision_ = 0;
  Interrupter interrupter_;
};

}  // namespace sluice::ledger

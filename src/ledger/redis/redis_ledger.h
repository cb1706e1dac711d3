#pragma once

#include <atomic>
#include <memory>
#include <string>

#include "ledger/ledger.h"
#include "ledger/redis/redis_book.h"
#include "redis/connection/subscription.h"
#include "redis/url/store_url.h"

namespace sluice::ledger {

// A ledger in Redis or Valkey: for several machines that have no other database. One server, the master that
// Sentinels report, or a slot of a Cluster. Belongs to one thread, like every Ledger.
//
// One script is the only writer: it appends records that were linked to the head if that is still the head.
// Each change is published, so wait() ends as soon as another process has written, or within half a second if
// the subscription does not work. An answered change is as durable as the server is configured to be; see
// redis_advice.h. Lost data is detected; see RedisBook. If a connection is lost in the middle of append(),
// the next one tells whether the change was written. Only if there is none for some seconds is the outcome
// unknown: send the change again with the same request id, and it is written once.
class RedisLedger final : public Ledger {
 public:
  // Does not connect.
  RedisLedger(const redis::StoreTarget& target, RedisLedgerOptions options);

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
  void interrupt() override;
  void start_over() noexcept override;
  std::string name() const override { return name_; }

 private:
  Result<std::int64_t> newest_version(Kind kind, std::string_view name);
  // The revisions of `count` versions, from `version` downwards.
  Result<std::vector<std::int64_t>> revisions_of(Kind kind, std::string_view name, std::int64_t version,
                                                 std::int64_t count);
  // A page of the revisions in the set of documents.
  Result<std::vector<std::int64_t>> newest_revisions(std::int64_t above, std::int64_t to);

  bool has_news();
  // Without a subscription: whether the head has moved. Nothing: the database is unreachable.
  std::optional<bool> has_moved();

  RedisBook book_;
  const std::string name_;
  redis::Subscription subscription_;
  std::atomic<bool> interrupted_ = false;
  std::int64_t watched_connection_ = 0;  // what the last wait() saw
  std::int64_t watched_beginning_ = 0;
  std::int64_t watched_revision_ = 0;
  std::int64_t ask_at_us_ = 0;
};

}  // namespace sluice::ledger

#pragma once

#include <cstdint>
#include <functional>
#include <initializer_list>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "ledger/redis/redis_client.h"
#include "ledger/redis/redis_layout.h"

namespace sluice::ledger {

struct RedisLedgerOptions {
  std::string key_prefix = "rl:";
  bool must_exist = false;  // a Redis without a ledger is kInvalidArgument; for read-only tools
  // Receives advice for the operator of the server, as sentences, whenever it changes; may be empty.
  std::function<void(const std::vector<std::string>& advice)> on_advice;
};

// The keys of a ledger in Redis, with checks that it is still the same ledger. Not thread-safe.
//
// Redis may lose data: by a restart without persistence, a failover to a replica that lagged, FLUSHALL. If
// new records then reused the revisions of lost ones, nodes would go on with different policies and not
// notice. So after each reconnect, the newest record ever seen here is read again and compared, and the head
// must never go back. Otherwise every call fails with kUnavailable until the records are back or the process
// restarts.
//
// Redis may also evict one of the keys when its memory is full. The set of documents is then rebuilt from the
// hash, which knows how many there are. Without the hash everything is lost, but a new process still sees
// that there was a ledger.
class RedisBook {
 public:
  RedisBook(const redis::StoreTarget& target, RedisLedgerOptions options);

  // Runs one command. Connects first if necessary, and follows a redirect to another node if the keys are
  // there.
  RedisResult<RedisReply> ask(std::span<const std::string_view> words);
  RedisResult<RedisReply> ask(std::initializer_list<std::string_view> words) {
    return ask(std::span(words.begin(), words.size()));
  }
  // Runs a function of the script; see redis_script.h.
  RedisResult<RedisReply> run(std::span<const std::string> words);

  // The head. Restores documents that are missing from their set.
  Result<Head> head();
  // Parses a head that was just read or written. An error if records were lost.
  Result<Head> note_head(std::string_view text);
  // Rebuilds the set of documents. An error if that is not possible.
  Result<void> mend();
  // The records of these revisions, in this order; missing ones are left out.
  Result<std::vector<Record>> read(std::span<const std::int64_t> revisions);
  // The same of the first of them, as many as one reply should carry.
  struct Portion {
    std::size_t revisions = 0;  // how many of them were read, at least one
    std::vector<Record> records;
  };
  // REQUIRES: `revisions` is not empty.
  Result<Portion> read_some(std::span<const std::int64_t> revisions);

  const RedisKeys& keys() const { return keys_; }
  RedisClient& session() { return session_; }

 private:
  RedisResult<void> prepare();
  RedisResult<void> recognize();
  bool was_removed_as_old(const Head& newest);
  void give_advice();
  std::string info(std::string_view section);
  std::optional<std::string> setting(std::string_view name);
  Error lost(std::int64_t revision) const;
  Error lost_documents() const;

  const RedisLedgerOptions options_;
  const RedisKeys keys_;
  RedisClient session_;
  std::int64_t recognized_ = 0;  // the connection on which the ledger was recognized as the same
  Head newest_;                  // the newest ever seen
  std::vector<std::string> advice_;
};

}  // namespace sluice::ledger

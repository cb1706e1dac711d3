#pragma once

#include <cstdint>
#include <functional>
#include <initializer_list>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "ledger/redis_layout.h"
#include "ledger/redis_session.h"

namespace sluice::ledger {

struct RedisLedgerOptions {
  std::string key_prefix = "rl:";
  bool must_exist = false;  // a Redis without a ledger is kInvalidArgument; for who only looks
  // Takes what whoever runs the server should change, as sentences, whenever that is something else; may be
  // empty.
  std::function<void(const std::vector<std::string>& advice)> on_advice;
};

// The keys of a ledger on the Redis that has them, and the care that this is still the same ledger. Not
// thread-safe.
//
// Redis may forget: by a restart without persistence, a failover to a replica that was behind, FLUSHALL. If
// then new records took the numbers of those that were lost, nodes would go on with different policies and
// not know it. So the newest record that was ever seen here is looked up again after each reconnect, and the
// head never goes back; otherwise every call is kUnavailable, until the records are back or the process
// starts anew.
//
// It may also forget one of the keys when its memory is full. The set of documents is then made anew from the
// hash, which knows how many there are; without the hash everything is lost, and a new process sees that
// something was there.
class RedisBook {
 public:
  RedisBook(const redis::StoreTarget& target, RedisLedgerOptions options);

  // One command, connected before if need be, and sent to another node if the keys are there.
  RedisResult<RedisReply> ask(std::span<const std::string_view> words);
  RedisResult<RedisReply> ask(std::initializer_list<std::string_view> words) {
    return ask(std::span(words.begin(), words.size()));
  }
  // A function of the script; see redis_script.h.
  RedisResult<RedisReply> run(std::span<const std::string> words);

  // Puts documents back that are missing from their set.
  Result<Head> head();
  // What `text`, read or written just now, says. An error if records were lost.
  Result<Head> note_head(std::string_view text);
  // Makes the set of documents anew. An error if that cannot be.
  Result<void> mend();
  // The records of these revisions, in this order; what is not there is left out.
  Result<std::vector<Record>> read(std::span<const std::int64_t> revisions);

  const RedisKeys& keys() const { return keys_; }
  RedisSession& session() { return session_; }

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
  RedisSession session_;
  std::int64_t recognized_ = 0;  // the connection on which the ledger was found to be the same
  Head newest_;                  // that was ever seen
  std::vector<std::string> advice_;
};

}  // namespace sluice::ledger

#pragma once

#include <cstdint>
#include <expected>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "base/error.h"
#include "net/event_loop.h"
#include "net/tcp_transport.h"
#include "redis/connection.h"
#include "redis/server_error.h"
#include "redis/slot_address.h"
#include "redis/store_url.h"

namespace sluice::ledger {

// One value of a reply; see redis/resp.h.
struct RedisValue {
  redis::RespValue::Type type = redis::RespValue::Type::kNothing;
  std::int64_t integer = 0;
  std::string bytes;

  bool is_nothing() const { return type == redis::RespValue::Type::kNothing; }
};
// In the order of the wire: for an array, the array and then what is in it.
using RedisReply = std::vector<RedisValue>;

struct RedisFailure {
  Error error;
  redis::ServerError kind = redis::ServerError::kOther;  // of an error reply; none of them has done anything
  bool unknown = false;  // it was sent and no reply came: nobody knows what was done
};
template <class T>
using RedisResult = std::expected<T, RedisFailure>;

// A connection to Redis for a thread that may block: one server, the master that Sentinels know, or the node
// of a Cluster that has the slot of all that is asked for; with TLS where the URL says so. Not thread-safe,
// except wake(). Every call ends: a server that does not answer within seconds counts as lost.
//
// It never connects by itself in the middle of a talk: who asks knows that it is the same server as before,
// or calls connect().
class RedisSession final : private redis::ConnectionEvents {
 public:
  RedisSession(const redis::StoreTarget& target, std::string script);

  // Waits until there is a connection. kUnavailable says why there is none.
  Result<void> connect();
  bool is_connected() const { return connection_.ready(); }
  // Grows with each new connection, perhaps to another server.
  std::int64_t connections_made() const { return connections_made_; }
  // REQUIRES: is_connected()
  const redis::Address& server() const { return connection_.address(); }
  const std::string& script_sha() const { return connection_.script_sha(); }

  // One command, and waits for its reply, which is no error. After MOVED the next connect() leads to the
  // other node.
  RedisResult<RedisReply> ask(std::span<const std::string_view> words);

  // A talk was broken off: the next connect() makes a new connection.
  void distrust() noexcept { distrusted_ = true; }

  // Lets happen what happens on the network, for at most so long; ends early when something did.
  void step(int timeout_ms);
  // Ends a step() in progress, or the next one. Thread-safe.
  void wake() const { loop_.wake(); }

  const std::string& name() const { return name_; }  // of the target, without password
  net::TcpTransport& transport() { return transport_; }
  const Clock& clock() const { return clock_; }

 private:
  void on_ready() override { ++connections_made_; }
  void on_reply(std::span<const redis::RespValue> reply) override;
  void on_lost(std::string_view why) override;

  redis::ConnectionOptions options_for(const redis::StoreTarget& target, std::string script);
  RedisFailure refused(const std::string& error);
  Error unavailable(const std::string& what) const;

  const std::string name_;
  const SystemClock clock_;
  net::EventLoop loop_;
  net::TcpTransport transport_{loop_};
  const redis::Connection::Random random_;
  std::shared_ptr<redis::SlotAddress> slot_;  // with a Cluster
  redis::Connection connection_;
  std::int64_t connections_made_ = 0;
  std::int64_t losses_ = 0;
  std::string why_lost_ = "no connection in time";
  std::optional<RedisReply> reply_;
  bool distrusted_ = false;
};

}  // namespace sluice::ledger

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
#include "net/socket/event_loop.h"
#include "net/socket/tcp_transport.h"
#include "redis/cluster/slot_address.h"
#include "redis/connection/connection.h"
#include "redis/protocol/server_error.h"
#include "redis/url/store_url.h"

namespace sluice::ledger {

// One value of a reply; see redis/protocol/resp.h.
struct RedisValue {
  redis::RespValue::Type type = redis::RespValue::Type::kNothing;
  std::int64_t integer = 0;
  std::string bytes;

  bool is_nothing() const { return type == redis::RespValue::Type::kNothing; }
};
// In the order of the wire: an array is followed by its elements.
using RedisReply = std::vector<RedisValue>;

struct RedisFailure {
  Error error;
  redis::ServerError kind = redis::ServerError::kOther;  // of an error reply; such a command had no effect
  bool unknown = false;  // the command was sent and no reply came: the outcome is unknown

  // For those who need to know only what went wrong.
  operator Error() && { return std::move(error); }  // NOLINT(google-explicit-constructor)
};
template <class T>
using RedisResult = std::expected<T, RedisFailure>;

// A blocking connection to Redis: to one server, to the master that Sentinels report, or to the node of a
// Cluster that owns the slot of all keys used; with TLS if the URL says so. Not thread-safe, except wake().
// Every call returns: a server that does not answer within seconds counts as lost.
//
// It never reconnects by itself between commands: the caller can rely on talking to the same server as
// before, until it calls connect().
class RedisClient final : private redis::ConnectionEvents {
 public:
  RedisClient(const redis::StoreTarget& target, std::string script);

  // Waits for a connection. kUnavailable says why there is none.
  Result<void> connect();
  bool is_connected() const { return connection_.ready(); }
  // Increases with each new connection, which may be to another server.
  std::int64_t connections_made() const { return connections_made_; }
  // REQUIRES: is_connected()
  const redis::Address& server() const { return connection_.address(); }
  const std::string& script_sha() const { return connection_.script_sha(); }

  // Sends one command and waits for its reply, which is not an error reply. After MOVED the next connect()
  // goes to the other node.
  RedisResult<RedisReply> ask(std::span<const std::string_view> words);

  // A dialogue was broken off: the next connect() makes a new connection.
  void distrust() noexcept { distrusted_ = true; }

  // Processes network events, for at most this long; returns early if there were any.
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
  std::shared_ptr<redis::SlotAddress> slot_;  // for a Cluster
  redis::Connection connection_;
  std::int64_t connections_made_ = 0;
  std::int64_t losses_ = 0;
  std::string why_lost_ = "connect timed out";
  std::optional<RedisReply> reply_;
  bool distrusted_ = false;
};

}  // namespace sluice::ledger

#pragma once

#include <memory>
#include <string>

#include "doors/access/caller.h"
#include "doors/resp/redis_throttle.h"
#include "doors/resp/redis_transaction.h"
#include "net/http/http_api.h"

namespace sluice::doors {

// The session of one Redis protocol client: its name, protocol version, identity and commands. Belongs to its
// loop's thread. All constructor arguments outlive it.
class RedisDoor final : public net::RedisHandler {
 public:
  RedisDoor(DoorContext& context, ThrottleLimits& throttle, const net::Peer& peer);

  bool handle(std::span<const std::string_view> words, net::RedisReply& reply) override;
  std::size_t held_bytes() const override { return transaction_.held_bytes(); }
  bool is_busy() const override { return transaction_.is_executing(); }

 private:
  using Words = std::span<const std::string_view>;

  // After MULTI.
  bool handle_in_transaction(Words words, net::RedisReply& reply);
  Result<GivenNumbers> numbers_of(const Throttle& throttle, const Caller& caller);
  Result<void> throttle(Words arguments, net::RedisReply& reply);
  void hello(Words arguments, std::string& out);
  void auth(Words arguments, std::string& out);
  void client(Words arguments, std::string& out);
  void command(Words arguments, std::string& out) const;
  void config(Words arguments, std::string& out) const;
  // All commands that are answered at once. REQUIRES: is_known_command().
  void other(std::string_view name, Words arguments, std::string& out);

  bool needs_no_token() const;
  bool log_in(std::string_view token);

  DoorContext& context_;
  ThrottleLimits& throttle_;
  const net::Peer& peer_;
  const std::int64_t id_;
  std::string name_;           // set by CLIENT SETNAME
  std::string authorization_;  // "Bearer …"; empty: no token was given
  bool is_known_ = false;      // needs no token, or has sent a valid one
  bool is_resp3_ = false;
  RedisTransaction transaction_;
};

}  // namespace sluice::doors

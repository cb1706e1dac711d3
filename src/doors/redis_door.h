#pragma once

#include <memory>
#include <string>

#include "doors/door_context.h"
#include "doors/redis_throttle.h"
#include "doors/redis_transaction.h"
#include "net/http_api.h"

namespace sluice::doors {

// One client of the Redis protocol: what it is called, which version it speaks, who it is, and its commands.
// Lives on its loop's thread; all that it is given outlives it.
class RedisDoor final : public net::RedisHandler {
 public:
  RedisDoor(DoorContext& context, ThrottleLimits& throttle, const net::Peer& peer);

  bool handle(std::span<const std::string_view> words, std::string& out, const Defer& defer) override;
  std::size_t held_bytes() const override { return transaction_.held_bytes(); }

 private:
  using Words = std::span<const std::string_view>;

  // After MULTI.
  bool handle_in_transaction(Words words, std::string& out, const Defer& defer);
  Result<GivenNumbers> numbers_of(const Throttle& throttle);
  void throttle(Words arguments, std::string& out, const Defer& defer);
  void hello(Words arguments, std::string& out);
  void auth(Words arguments, std::string& out);
  void client(Words arguments, std::string& out);
  void command(Words arguments, std::string& out) const;
  void config(Words arguments, std::string& out) const;
  // All commands that answer at once. REQUIRES: is_redis_command().
  void other(std::string_view name, Words arguments, std::string& out);

  bool needs_no_token() const;
  bool log_in(std::string_view token);

  DoorContext& context_;
  ThrottleLimits& throttle_;
  const net::Peer& peer_;
  const std::int64_t id_;
  std::string name_;           // as CLIENT SETNAME says
  std::string authorization_;  // "Bearer …"; empty: no token was given
  bool is_known_ = false;      // needs no token, or has given a good one
  bool is_resp3_ = false;
  RedisTransaction transaction_;
};

}  // namespace sluice::doors

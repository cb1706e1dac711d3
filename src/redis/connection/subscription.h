#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "redis/connection/address_source.h"
#include "redis/protocol/reply_stream.h"

namespace sluice::redis {

// Subscribes to one channel of a server, over a connection of its own (a subscriber can send no other
// commands). Checks that the server is alive, and subscribes again after a loss. Not thread-safe.
//
//   subscription.tick(clock.now_us(), server);        // now and then
//   if (subscription.beginnings() != known) look();   // earlier messages were missed
//   if (subscription.take_heard()) look();
class Subscription final : private ReplyStream::Events {
 public:
  // REQUIRES: transport and clock outlive it.
  Subscription(Transport& transport, const Clock& clock, std::string channel)
      : channel_(std::move(channel)), clock_(clock), stream_(transport, clock, *this) {}

  // Connects if needed, and checks the connection. Never blocks.
  void tick(std::int64_t now_us, const Address& server);

  bool is_listening() const { return phase_ == Phase::kListening; }
  // How often it has subscribed.
  std::int64_t beginnings() const { return beginnings_; }
  // Whether something was published since the last call.
  bool take_heard() { return std::exchange(heard_, false); }
  // Why the server refuses the subscription, in its words or ours; empty: it does not, or was not reached.
  const std::string& refusal() const { return refusal_; }

 private:
  enum class Phase : std::uint8_t { kClosed, kLoggingIn, kSubscribing, kListening };

  void on_open() override;
  void on_reply(std::span<const RespValue> reply) override;
  void on_end(std::string_view, bool) override { close(kRetryUs); }

  void open(std::int64_t now_us, const Address& server);
  void refuse(std::string why);
  void close(std::int64_t retry_after_us);

  static constexpr std::int64_t kRetryUs = 200'000;
  static constexpr std::int64_t kRetryRefusedUs = 10'000'000;
  static constexpr std::int64_t kAnswerUs = 2'000'000;  // for any reply
  static constexpr std::int64_t kCheckEveryUs =
      5'000'000;  // a server that is quiet for this long gets a PING

  const std::string channel_;
  const Clock& clock_;
  ReplyStream stream_;
  Address address_;
  Phase phase_ = Phase::kClosed;
  std::int64_t give_up_at_us_ = 0;  // when a reply must be there; 0: none is outstanding
  std::int64_t retry_at_us_ = 0;
  std::int64_t beginnings_ = 0;
  bool heard_ = false;
  std::string refusal_;
};

}  // namespace sluice::redis

#include "redis/connection/subscription.h"

#include <utility>

#include "redis/connection/auth.h"

namespace sluice::redis {

void Subscription::tick(std::int64_t now_us, const Address& server) {
  if (stream_.is_open() && !same_place(server, address_)) close(0);
  if (!stream_.is_open()) {
    if (now_us >= retry_at_us_) open(now_us, server);
  } else if (give_up_at_us_ != 0) {
    if (now_us >= give_up_at_us_) close(kRetryUs);
  } else if (now_us - stream_.heard_at_us() >= kCheckEveryUs) {
    std::string ping;
    append_command(ping, {"PING"});
    stream_.send(ping);
    give_up_at_us_ = now_us + kAnswerUs;
  }
}

void Subscription::open(std::int64_t now_us, const Address& server) {
  address_ = server;
  give_up_at_us_ = now_us + kAnswerUs;
  std::string why;
  if (!stream_.open(address_, why)) close(kRetryUs);
}

void Subscription::on_open() {
  std::string commands;
  phase_ = append_auth(commands, address_) ? Phase::kLoggingIn : Phase::kSubscribing;
  append_command(commands, {"SUBSCRIBE", channel_});
  stream_.send(commands);
}

void Subscription::on_reply(std::span<const RespValue> reply) {
  const RespValue& first = reply.front();
  if (first.is_error())
    return refuse(phase_ == Phase::kLoggingIn ? refused_auth(first.bytes, address_)
                                              : without_secrets(first.bytes, address_));
  if (phase_ == Phase::kLoggingIn) {
    phase_ = Phase::kSubscribing;
    return;
  }
  give_up_at_us_ = 0;
  if (phase_ == Phase::kSubscribing) {
    phase_ = Phase::kListening;
    refusal_.clear();
    ++beginnings_;
  } else if (reply.size() == 4 && reply[1].bytes == "message") {
    heard_ = true;
  }
}

void Subscription::refuse(std::string why) {
  refusal_ = std::move(why);
  close(kRetryRefusedUs);
}

void Subscription::close(std::int64_t retry_after_us) {
  stream_.close();
  phase_ = Phase::kClosed;
  give_up_at_us_ = 0;
  retry_at_us_ = clock_.now_us() + retry_after_us;
}

}  // namespace sluice::redis

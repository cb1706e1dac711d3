#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "base/clock.h"
#include "redis/connection/transport.h"
#include "redis/protocol/resp.h"

namespace sluice::redis {

// A channel that delivers whole replies instead of bytes. Can be opened again once closed. Not thread-safe.
class ReplyStream final : private ChannelEvents {
 public:
  // Any of these may close the stream, and open it again, but must not destroy it.
  class Events {
   public:
    virtual void on_open() = 0;
    virtual void on_reply(std::span<const RespValue> reply) = 0;  // valid until the stream is closed
    // It is closed already. `refused`: one side does not trust the other.
    virtual void on_end(std::string_view why, bool refused) = 0;

   protected:
    ~Events() = default;
  };

  // REQUIRES: all arguments outlive it.
  ReplyStream(Transport& transport, const Clock& clock, Events& events)
      : transport_(transport), clock_(clock), events_(events) {}

  // Begins to connect. False if it cannot even begin; `why` says why. REQUIRES: closed
  bool open(const Address& address, std::string& why);
  // Calls no event.
  void close();
  bool is_open() const { return channel_ != nullptr; }

  // REQUIRES: after on_open()
  void send(std::string_view bytes) { channel_->send(bytes); }

  void poll() {
    if (channel_) channel_->poll();
  }

  std::int64_t heard_at_us() const { return heard_at_us_; }  // when the last byte came

 private:
  void on_connected() override { events_.on_open(); }
  void on_bytes(std::string_view bytes) override;
  void on_closed(std::string_view why) override { end(why, false); }
  void on_refused(std::string_view why) override { end(why, true); }

  void end(std::string_view why, bool refused);

  Transport& transport_;
  const Clock& clock_;
  Events& events_;
  std::unique_ptr<Channel> channel_;
  RespParser parser_;
  std::uint64_t generation_ = 0;  // changes whenever a channel ends
  std::int64_t heard_at_us_ = 0;
};

}  // namespace sluice::redis

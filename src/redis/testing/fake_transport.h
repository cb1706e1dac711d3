#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <string_view>

#include "redis/connection/transport.h"

namespace sluice::redis {

// What a server says to CLIENT SETNAME and SCRIPT LOAD.
inline constexpr char kLoggedIn[] = "+OK\r\n$4\r\n5ba1\r\n";

// A network with one wire, for tests: records sent bytes, and the test plays the server. Not thread-safe.
class FakeTransport final : public Transport {
 public:
  std::unique_ptr<Channel> connect(const Address&, ChannelEvents& events, std::string& why) override {
    ++attempts;
    if (unreachable) {
      why = "Network is unreachable";
      return nullptr;
    }
    events_ = &events;
    sent.clear();
    return std::make_unique<FakeChannel>(*this);
  }

  std::int64_t slept_us() const override { return slept; }

  bool open() const { return events_ != nullptr; }
  void accept() { events_->on_connected(); }
  void say(std::string_view bytes) { events_->on_bytes(bytes); }
  // Bytes that have arrived, but that the loop has not read yet.
  void say_when_polled(std::string_view bytes) { unread_ = bytes; }
  void cut(std::string_view why) { events_->on_closed(why); }

  // What was sent since the last call.
  std::string take_sent() { return std::exchange(sent, {}); }

  int attempts = 0;
  bool unreachable = false;
  std::string sent;
  std::int64_t slept = 0;

 private:
  class FakeChannel final : public Channel {
   public:
    explicit FakeChannel(FakeTransport& owner) : owner_(owner) {}
    ~FakeChannel() override { owner_.events_ = nullptr; }
    void send(std::string_view bytes) override { owner_.sent += bytes; }
    void poll() override {
      if (!owner_.unread_.empty()) owner_.say(std::exchange(owner_.unread_, {}));
    }

   private:
    FakeTransport& owner_;
  };

  ChannelEvents* events_ = nullptr;
  std::string unread_;
};

}  // namespace sluice::redis

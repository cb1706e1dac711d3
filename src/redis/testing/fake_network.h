#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "redis/connection/transport.h"

namespace sluice::redis {

// A network with many wires, for tests: records connection attempts and sent bytes, and the test plays the
// servers. Not thread-safe. For one wire see fake_transport.h.
class FakeNetwork final : public Transport {
 public:
  // One connection, kept also after its end. In the order of the attempts.
  struct Wire {
    std::string to;  // host:port
    ChannelEvents* events = nullptr;
    std::string sent;

    bool open() const { return events != nullptr; }
    void accept() const { events->on_connected(); }
    void say(std::string_view bytes) const { events->on_bytes(bytes); }
    void cut(std::string_view why) const { events->on_closed(why); }
    std::string take_sent() { return std::exchange(sent, {}); }
  };

  std::unique_ptr<Channel> connect(const Address& address, ChannelEvents& events, std::string& why) override {
    wires.push_back(std::make_unique<Wire>());
    Wire& wire = *wires.back();
    wire.to = address.host + ":" + std::to_string(address.port);
    if (wire.to == unreachable) {
      why = "Network is unreachable";
      return nullptr;
    }
    wire.events = &events;
    return std::make_unique<FakeChannel>(wire);
  }

  Wire& last() const { return *wires.back(); }
  std::vector<std::string> attempts() const {  // their addresses, in order
    std::vector<std::string> all;
    for (const auto& wire : wires) all.push_back(wire->to);
    return all;
  }

  std::vector<std::unique_ptr<Wire>> wires;
  std::string unreachable;  // host:port

 private:
  class FakeChannel final : public Channel {
   public:
    explicit FakeChannel(Wire& wire) : wire_(wire) {}
    ~FakeChannel() override { wire_.events = nullptr; }
    void send(std::string_view bytes) override { wire_.sent += bytes; }

   private:
    Wire& wire_;
  };
};

}  // namespace sluice::redis

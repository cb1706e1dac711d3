#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "net/event_loop.h"
#include "redis/transport.h"

namespace sluice::net {

// Channels over TCP (with TCP_NODELAY) and unix sockets, on an event loop. Belongs to the loop's thread.
// Nothing blocks, except that the name of a host is looked up when a connection begins: give addresses where
// that matters.
class TcpTransport final : public redis::Transport {
 public:
  // REQUIRES: the loop outlives the transport and its channels.
  explicit TcpTransport(EventLoop& loop) : loop_(loop) {}

  std::unique_ptr<redis::Channel> connect(const redis::Address& address, redis::ChannelEvents& events,
                                          std::string& why) override;

 private:
  EventLoop& loop_;
  std::uint32_t attempts_ = 0;
};

}  // namespace sluice::net

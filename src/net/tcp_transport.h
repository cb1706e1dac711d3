#pragma once

#include <memory>
#include <string>

#include "net/event_loop.h"
#include "net/host_lookup.h"
#include "redis/transport.h"

namespace sluice::net {

// Channels over TCP (with TCP_NODELAY) and unix sockets, on an event loop. Belongs to the loop's thread.
// Nothing blocks.
class TcpTransport final : public redis::Transport {
 public:
  // REQUIRES: the loop outlives the transport and its channels.
  explicit TcpTransport(EventLoop& loop) : loop_(loop) {}

  std::unique_ptr<redis::Channel> connect(const redis::Address& address, redis::ChannelEvents& events,
                                          std::string& why) override;

 private:
  EventLoop& loop_;
  HostLookup hosts_;
};

}  // namespace sluice::net

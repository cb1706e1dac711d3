#pragma once

#include <map>
#include <memory>
#include <string>

#include "net/socket/event_loop.h"
#include "net/socket/host_lookup.h"
#include "net/tls/tls_context.h"
#include "redis/connection/transport.h"

namespace sluice::net {

// Channels over TCP (with TCP_NODELAY), with TLS where the address asks for it, and unix sockets, on an event
// loop. Belongs to the loop's thread. Nothing blocks, except that certificates are read from their files.
class TcpTransport final : public redis::Transport {
 public:
  // REQUIRES: the loop outlives the transport and its channels.
  explicit TcpTransport(EventLoop& loop) : loop_(loop) {}

  std::unique_ptr<redis::Channel> connect(const redis::Address& address, redis::ChannelEvents& events,
                                          std::string& why) override;
  std::int64_t slept_us() const override { return loop_.slept_us(); }

 private:
  EventLoop& loop_;
  HostLookup hosts_;
  std::map<TlsSettings, TlsClientContext> contexts_;
};

}  // namespace sluice::net

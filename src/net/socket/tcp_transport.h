#pragma once

#include <map>
#include <memory>
#include <string>
#include <utility>

#include "net/socket/event_loop.h"
#include "net/socket/host_lookup.h"
#include "net/tls/tls_context.h"
#include "redis/connection/transport.h"

namespace sluice::net {

// Channels over TCP (with TCP_NODELAY), with TLS where the address asks for it, and unix sockets, on an event
// loop. Belongs to the loop's thread. Nothing blocks, except that certificates are read from their files.
class TcpTransport final : public redis::Transport {
 public:
  // `application_protocol`: what TLS offers to the server ("h2"); empty: nothing.
  // REQUIRES: the loop outlives the transport and its channels.
  explicit TcpTransport(EventLoop& loop, std::string application_protocol = {})
      : loop_(loop), application_protocol_(std::move(application_protocol)) {}

  std::unique_ptr<redis::Channel> connect(const redis::Address& address, redis::ChannelEvents& events,
                                          std::string& why) override;
  std::int64_t slept_us() const override { return loop_.slept_us(); }

 private:
  EventLoop& loop_;
  const std::string application_protocol_;
  HostLookup hosts_;
  std::map<TlsSettings, TlsClientContext> contexts_;
};

}  // namespace sluice::net

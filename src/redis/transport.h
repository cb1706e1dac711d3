#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "redis/redis_url.h"

// The seam between the protocol and the sockets. The real one is net/tcp_transport.h; tests and simulations
// have their own.
namespace sluice::redis {

// Hears what happens to a Channel. Called on the loop's thread; never from inside connect() or send(), but
// from inside poll().
class ChannelEvents {
 public:
  virtual void on_connected() = 0;
  virtual void on_bytes(std::string_view bytes) = 0;
  virtual void on_closed(std::string_view why) = 0;  // the last event; also when connecting failed
  // Instead of on_closed(): one side does not trust the other. To try again soon would only be a nuisance.
  virtual void on_refused(std::string_view why) { on_closed(why); }

 protected:
  ~ChannelEvents() = default;
};

// A stream of bytes to a server. Destroying it closes it without an event, also from inside an event.
class Channel {
 public:
  virtual ~Channel() = default;

  // Takes all of `bytes` and keeps what the network does not. REQUIRES: on_connected() came, on_closed() did
  // not.
  virtual void send(std::string_view bytes) = 0;

  // Reads at once what has arrived: the events come from inside this call. For those about to conclude that
  // nothing came, although the loop was just busy elsewhere.
  virtual void poll() {}
};

// Makes channels. Belongs to one event loop's thread.
class Transport {
 public:
  virtual ~Transport() = default;

  // Begins to connect; on_connected() or on_closed() follows. Null when it cannot even begin; `why` says so.
  virtual std::unique_ptr<Channel> connect(const Address& address, ChannelEvents& events,
                                           std::string& why) = 0;

  // How long the loop has waited for events, in all, because it had nothing else to do. 0: nobody counts.
  virtual std::int64_t slept_us() const { return 0; }
};

}  // namespace sluice::redis

#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "redis/url/redis_url.h"

// The interface between the protocol and the sockets. net/socket/tcp_transport.h implements it; tests and
// simulations have their own.
namespace sluice::redis {

// Callbacks of a Channel. Called on the loop's thread, possibly from inside poll(), but never from inside
// connect() or send().
class ChannelEvents {
 public:
  virtual void on_connected() = 0;
  virtual void on_bytes(std::string_view bytes) = 0;
  virtual void on_closed(std::string_view why) = 0;  // the last event; also when connecting failed
  // Instead of on_closed(): one side does not trust the other. Retrying soon is pointless.
  virtual void on_refused(std::string_view why) { on_closed(why); }

 protected:
  ~ChannelEvents() = default;
};

// A stream of bytes to a server. Destroying it closes it without an event, also from inside an event.
// Belongs to the thread of its Transport.
class Channel {
 public:
  virtual ~Channel() = default;

  // Takes all of `bytes` and buffers what the network does not take yet. REQUIRES: after on_connected(),
  // before on_closed().
  virtual void send(std::string_view bytes) = 0;

  // Reads at once what has arrived: the events come from inside this call. For callers that are about to
  // report a timeout although the loop was just busy elsewhere.
  virtual void poll() {}
};

// Makes channels. Belongs to one event loop's thread.
class Transport {
 public:
  virtual ~Transport() = default;

  // Begins to connect; on_connected() or on_closed() follows. Null if it cannot even begin; `why` says why.
  virtual std::unique_ptr<Channel> connect(const Address& address, ChannelEvents& events,
                                           std::string& why) = 0;

  // How long the loop has waited for events in total, having nothing else to do. 0: not measured.
  virtual std::int64_t slept_us() const { return 0; }
};

}  // namespace sluice::redis

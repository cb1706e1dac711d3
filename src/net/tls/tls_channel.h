#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "net/tls/tls_engine.h"
#include "redis/connection/transport.h"

namespace sluice::net {

// A channel that speaks TLS over another channel. Belongs to the loop's thread, like the other channel.
//
// It is connected when the handshake is done, so the owner's connect timeout covers the handshake. A peer
// that we do not trust, or that rejects us, is reported by on_refused(). A peer that closes without
// close_notify is not an error in itself: the reader knows from the protocol above whether something is
// missing.
class TlsChannel final : public redis::Channel, private redis::ChannelEvents {
 public:
  using MakeChannel = std::function<std::unique_ptr<redis::Channel>(redis::ChannelEvents& events)>;

  // REQUIRES: engine is a client; make_below() returns a channel.
  TlsChannel(std::unique_ptr<TlsEngine> engine, redis::ChannelEvents& events, const MakeChannel& make_below);
  ~TlsChannel() override;

  void send(std::string_view bytes) override;
  void poll() override { below_->poll(); }

 private:
  void on_connected() override;
  void on_bytes(std::string_view bytes) override;
  void on_closed(std::string_view why) override;

  void send_below(const std::string& bytes);
  // The owner may destroy us in the callback. Returns whether we still exist.
  bool report(const std::function<void()>& event);

  const std::unique_ptr<TlsEngine> engine_;
  redis::ChannelEvents& events_;
  std::unique_ptr<redis::Channel> below_;
  bool connected_ = false;
  bool* gone_ = nullptr;  // set true when we are destroyed
};

}  // namespace sluice::net

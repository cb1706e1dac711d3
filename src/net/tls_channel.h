#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "net/tls_engine.h"
#include "redis/transport.h"

namespace sluice::net {

// A channel that speaks TLS over another channel. Belongs to the loop's thread, as that does.
//
// It is connected when the handshake is done, so a server that is silent meanwhile takes from the same time
// that its owner gives it to connect. A peer that we don't trust, or that does not want us, is on_refused().
// That the peer ends without saying so in TLS is no error of its own: whoever reads knows from the protocol
// above whether something is missing.
class TlsChannel final : public redis::Channel, private redis::ChannelEvents {
 public:
  using MakeChannel = std::function<std::unique_ptr<redis::Channel>(redis::ChannelEvents& events)>;

  // REQUIRES: engine is a client's; make_below() returns a channel.
  TlsChannel(std::unique_ptr<TlsEngine> engine, redis::ChannelEvents& events, const MakeChannel& make_below);
  ~TlsChannel() override;

  void send(std::string_view bytes) override;
  void poll() override { below_->poll(); }

 private:
  void on_connected() override;
  void on_bytes(std::string_view bytes) override;
  void on_closed(std::string_view why) override;

  void send_below(const std::string& bytes);
  // The owner may destroy us when it hears something. Returns whether we are still here.
  bool tell(const std::function<void()>& event);

  const std::unique_ptr<TlsEngine> engine_;
  redis::ChannelEvents& events_;
  std::unique_ptr<redis::Channel> below_;
  bool connected_ = false;
  bool* gone_ = nullptr;  // set true when we are destroyed
};

}  // namespace sluice::net

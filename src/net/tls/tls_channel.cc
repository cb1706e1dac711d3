#include "net/tls/tls_channel.h"

#include <cassert>
#include <utility>

namespace sluice::net {

TlsChannel::TlsChannel(std::unique_ptr<TlsEngine> engine, redis::ChannelEvents& events,
                       const MakeChannel& make_below)
    : engine_(std::move(engine)), events_(events), below_(make_below(*this)) {
  assert(below_);
}

TlsChannel::~TlsChannel() {
  std::string goodbye;
  engine_->end(goodbye);
  send_below(goodbye);
  if (gone_ != nullptr) *gone_ = true;
}

void TlsChannel::send(std::string_view bytes) {
  assert(connected_);
  std::string out;
  engine_->send(bytes, out);
  send_below(out);
}

void TlsChannel::on_connected() {
  std::string out;
  engine_->begin(out);
  send_below(out);
}

void TlsChannel::on_bytes(std::string_view bytes) {
  std::string plain, out;
  engine_->receive(bytes, plain, out);
  send_below(out);
  if (!connected_ && engine_->status() != TlsEngine::Status::kHandshaking) {
    if (engine_->status() == TlsEngine::Status::kFailed) return events_.on_refused(engine_->problem());
    connected_ = true;
    if (!report([&] { events_.on_connected(); })) return;
  }
  if (!plain.empty() && !report([&] { events_.on_bytes(plain); })) return;
  if (engine_->status() == TlsEngine::Status::kFailed) return events_.on_refused(engine_->problem());
  if (engine_->status() == TlsEngine::Status::kEnded) events_.on_closed("closed by the server");
}

void TlsChannel::on_closed(std::string_view why) {
  events_.on_closed(connected_ ? std::string(why) : std::string(why) + " (in the TLS handshake)");
}

void TlsChannel::send_below(const std::string& bytes) {
  if (!bytes.empty()) below_->send(bytes);
}

bool TlsChannel::report(const std::function<void()>& event) {
  bool gone = false;
  gone_ = &gone;
  event();
  if (gone) return false;
  gone_ = nullptr;
  return true;
}

}  // namespace sluice::net

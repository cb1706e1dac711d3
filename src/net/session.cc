#include "net/session.h"

#include "net/http/http_text.h"
#include "net/http1/http1_session.h"
#include "net/http2/http2_session.h"
#include "net/http2/http2_stream.h"
#include "net/resp/resp_session.h"

namespace sluice::net {

SessionContext::SessionContext(Application& app, const Clock& the_clock, const LoopHooks* hooks)
    : application(app), clock(the_clock), hooks_(hooks) {
  streams.reserve(kIdleStreamsMax);  // so that returning one cannot fail
  refresh_time();
}

SessionContext::~SessionContext() = default;

void SessionContext::refresh_time() {
  now_us = clock.now_us();
  const std::int64_t second = now_us / 1'000'000;
  if (second == date_second_) return;
  date_second_ = second;
  date = http_date(second);
}

Protocol sniff_protocol(Port port, std::string_view first_bytes) {
  if (port == Port::kRedis) return Protocol::kRedis;
  constexpr std::string_view kPreface = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";
  if (first_bytes.starts_with(kPreface)) return Protocol::kHttp2;
  return kPreface.starts_with(first_bytes) ? Protocol::kUndecided : Protocol::kHttp1;
}

std::unique_ptr<Session> make_session(Protocol protocol, SessionContext& context, SessionHost& host,
                                      const Peer& peer) {
  if (protocol == Protocol::kHttp2) return std::make_unique<Http2Session>(context, host, peer);
  if (protocol == Protocol::kRedis) return std::make_unique<RespSession>(context, host, peer);
  return std::make_unique<Http1Session>(context, host, peer);
}

}  // namespace sluice::net

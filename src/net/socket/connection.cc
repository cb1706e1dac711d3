#include "net/socket/connection.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <unistd.h>

#include <algorithm>
#include <cassert>
#include <cerrno>
#include <utility>

#include "base/limits/connection_limits.h"
#include "net/tls/client_hello.h"

namespace sluice::net {
namespace {

constexpr std::size_t kLargeBytes = 16u << 10;  // read recently: about two hundred checks
constexpr std::int64_t kLingerUs = 2'000'000;

// For clients that use http:// instead of https://.
constexpr std::string_view kPlainHttpAnswer =
    "HTTP/1.1 400 Bad Request\r\ncontent-type: text/plain\r\ncontent-length: 37\r\nconnection: close\r\n\r\n"
    "this port requires TLS; use https://\n";

// A fatal alert in clear text, as OpenSSL sends it for a message that is too long.
constexpr std::string_view kIllegalParameterAlert("\x15\x03\x03\x00\x02\x02\x2f", 7);

}  // namespace

std::string address_text(const sockaddr_storage& address) {
  char text[INET6_ADDRSTRLEN] = "";
  if (address.ss_family == AF_INET)
    inet_ntop(AF_INET, &reinterpret_cast<const sockaddr_in&>(address).sin_addr, text, sizeof(text));
  else if (address.ss_family == AF_INET6)
    inet_ntop(AF_INET6, &reinterpret_cast<const sockaddr_in6&>(address).sin6_addr, text, sizeof(text));
  const std::string_view mapped = "::ffff:";
  return std::string_view(text).starts_with(mapped) ? text + mapped.size() : text;
}

Connection::Connection(ConnectionSet& set, int fd, Peer peer, TlsServerContext* tls)
    : set_(set),
      fd_(fd),
      peer_(std::move(peer)),
      needs_token_(peer_.is_stranger),
      tls_context_(tls),
      opened_us_(set.context_.now_us),
      since_us_(opened_us_) {
  set_.loop_.add(fd_, interest_, *this);
}

Connection::~Connection() {
  if (shaking_hands_) tls_context_->count_handshake(false);
  set_.account_.change(-static_cast<std::int64_t>(held_bytes_), held_as_stranger_);
  set_.account_.change_tls(-static_cast<std::int64_t>(held_by_tls_), tls_pool_);
  set_.loop_.remove(fd_, *this);
  ::close(fd_);
}

void Connection::settle() {
  std::size_t held = heap_bytes(unsent_) + heap_bytes(first_bytes_) + (session_ ? session_->held_bytes() : 0);
  if (tls_context_) held += settle_tls();
  if (held == held_bytes_ && (held == 0 || peer_.is_stranger == held_as_stranger_)) [[likely]]
    return;
  set_.account_.change(-static_cast<std::int64_t>(held_bytes_), held_as_stranger_);
  held_bytes_ = held;
  held_as_stranger_ = peer_.is_stranger;
  set_.account_.change(static_cast<std::int64_t>(held_bytes_), held_as_stranger_);
}

// Returns what the connection holds besides. Peers that have shown a token, where one is needed, or a
// certificate may keep a connection open without being charged.
std::size_t Connection::settle_tls() {
  using Pool = BufferBudget::Pool;
  const bool shakes_hands = tls_ && tls_->status() == TlsEngine::Status::kHandshaking;
  const bool is_known = !peer_.is_stranger && (needs_token_ || !peer_.names.empty());
  const std::size_t held = tls_ && (shakes_hands || !is_known) ? tls_->held_bytes() : 0;
  const Pool pool = shakes_hands || peer_.is_stranger ? Pool::kTls : Pool::kOpenTls;
  if (held != held_by_tls_ || pool != tls_pool_) [[unlikely]] {
    set_.account_.change_tls(-static_cast<std::int64_t>(held_by_tls_), tls_pool_);
    set_.account_.change_tls(static_cast<std::int64_t>(held), pool);
    held_by_tls_ = held;
    tls_pool_ = pool;
  }
  const bool listens = tls_ && !shakes_hands && !(session_ && session_->finished());
  return listens ? tls_->partial_record_bytes() : 0;
}

void Connection::on_events(std::uint32_t events) {
  carefully([this, events] { return handle_events(events); });
}

bool Connection::handle_events(std::uint32_t events) {
  if (events & EPOLLERR) return close();
  if ((events & EPOLLOUT) && !unsent_.empty() && (!transmit(unsent_) || !after_write())) return false;
  if (!(events & (EPOLLIN | EPOLLHUP))) return true;
  if (recent_bytes_ < kLargeBytes || !(interest_ & EPOLLIN)) return read();
  if (!is_large_) set_.large_.push_back(this);
  is_large_ = true;
  return true;
}

Connection::Worth Connection::worth() const {
  constexpr std::int64_t kNewUs = 1'000'000;
  if (lingering_) return Worth::kSilent;
  if (session_ && session_->owes_answer()) return Worth::kOwedAnswer;
  if (!session_ || !session_->has_served()) {
    if (set_.context_.now_us - opened_us_ < kNewUs) return Worth::kNew;
    return session_ ? Worth::kStranger : Worth::kSilent;
  }
  if (peer_.is_stranger) return Worth::kStranger;
  return session_->idle() && unsent_.empty() ? Worth::kIdle : Worth::kPartialRequest;
}

bool Connection::read() {
  // A connection that holds too much is shed before anyone may send more.
  if (!lingering_ && set_.account_.is_over()) return true;
  const auto bytes = recv(fd_, set_.input_.get(), ConnectionSet::kInputBytes, 0);
  if (bytes < 0) return errno == EAGAIN || errno == EINTR ? true : close();
  if (bytes == 0) return end_of_input();
  recent_bytes_ = recent_bytes_ / 2 + static_cast<std::size_t>(bytes);
  if (lingering_) return true;
  const std::span input(set_.input_.get(), static_cast<std::size_t>(bytes));
  if (!tls_context_) return receive(input);
  const std::string_view sealed(input.data(), input.size());
  return tls_ ? receive_sealed(sealed) : receive_hello(sealed);
}

bool Connection::end_of_input() {
  input_ended_ = true;
  if (lingering_ || !session_) return close();
  session_->end_of_input();
  return after_write();
}

bool Connection::receive_hello(std::string_view bytes) {
  shaking_hands_ = true;
  first_bytes_.append(bytes);
  switch (look_at_client_hello(first_bytes_)) {
    case ClientHello::kPartial:
      return true;
    case ClientHello::kTooLong: {
      tls_context_->report_failed_handshake(peer_.address + " began a TLS handshake with more than " +
                                                std::to_string(kClientHelloBytesMax) + " bytes",
                                            set_.context_.now_us);
      std::string().swap(first_bytes_);
      std::string& out = sealed_output();
      out += kIllegalParameterAlert;
      return transmit(out) && linger();
    }
    case ClientHello::kWhole:
      tls_ = tls_context_->accept(peer_.address, peer_.port);
      return receive_sealed(std::exchange(first_bytes_, {}));
  }
  std::unreachable();
}

bool Connection::receive_sealed(std::string_view bytes) {
  std::string& plain = set_.opened_;
  plain.clear();
  std::string& out = sealed_output();
  tls_->receive(bytes, plain, out);
  if (tls_->heard_plain_http()) out += kPlainHttpAnswer;
  if (!transmit(out)) return false;
  if (tls_->status() == TlsEngine::Status::kFailed) {
    if (shaking_hands_) tls_context_->report_failed_handshake(tls_->problem(), set_.context_.now_us);
    return linger();
  }
  if (shaking_hands_ && tls_->status() != TlsEngine::Status::kHandshaking) {
    shaking_hands_ = false;
    tls_context_->count_handshake(true);
    peer_.names = tls_->peer_names();
  }
  if (!plain.empty() && !receive(plain)) return false;
  if (lingering_) return true;
  if (tls_->status() == TlsEngine::Status::kEnded && !input_ended_) return end_of_input();
  if (!session_) update_interest();  // the handshake may have unsent bytes
  return true;
}

bool Connection::receive(std::span<char> bytes) {
  if (!session_) {
    first_bytes_.append(bytes.data(), bytes.size());
    const Protocol protocol = sniff_protocol(peer_.port, first_bytes_);
    if (protocol == Protocol::kUndecided) return true;
    session_ = make_session(protocol, set_.context_, *this, peer_);
    bytes = first_bytes_;
  }
  std::string& out = output();
  session_->receive(bytes, out);
  if (set_.context_.draining) session_->drain(out);  // a new session has not been told yet
  if (!first_bytes_.empty()) std::string().swap(first_bytes_);
  return write(out) && after_write();
}

bool Connection::resume() {
  if (lingering_) return true;
  // The session counts its own output, not what TLS still has to send. We return here when that has shrunk.
  if (tls_ && unsent_.size() > kUnreadOutputBytesMax) return true;
  std::string& out = output();
  session_->resume(out);
  return write(out) && after_write();
}

bool Connection::tick() {
  const std::int64_t waited_us = set_.context_.now_us - since_us_;
  if (lingering_) return waited_us >= kLingerUs ? close() : true;
  if (set_.context_.draining && !read_before_end()) return false;
  if (lingering_) return true;
  if (!session_) return waited_us >= first_bytes_us() || may_go() ? close() : true;
  if (!unsent_.empty() && waited_us >= set_.context_.timeouts.unread_answer_us) return close();
  std::string& out = output();
  session_->tick(out);
  return write(out) && after_write();
}

// Redis clients connect before they have something to send, and stay.
std::int64_t Connection::first_bytes_us() const {
  const SessionTimeouts& timeouts = set_.context_.timeouts;
  const bool awaits_tls = tls_context_ && (!tls_ || tls_->status() == TlsEngine::Status::kHandshaking);
  if (peer_.port != Port::kRedis || awaits_tls) return timeouts.request_head_us;
  return peer_.is_stranger ? timeouts.redis_login_us : timeouts.redis_idle_us;
}

bool Connection::drain() {
  if (!read_before_end()) return false;
  if (lingering_) return true;
  if (!session_) return may_go() ? close() : true;
  std::string& out = output();
  session_->drain(out);
  return write(out) && after_write();
}

// A connection that has sent something is not idle, even if it has not been read yet.
bool Connection::read_before_end() { return (interest_ & EPOLLIN) ? read() : true; }

bool Connection::may_go() const {
  return set_.context_.draining && set_.context_.now_us >= set_.context_.drain_idle_until_us;
}

// Bytes that cannot be sent at once wait in unsent_; otherwise one buffer serves all connections.
std::string& Connection::output() { return unsent_.empty() || tls_context_ ? set_.output_ : unsent_; }

bool Connection::write(std::string& said) {
  if (!tls_context_) return transmit(said);
  std::string& out = sealed_output();
  tls_->send(said, out);
  said.clear();
  return transmit(out);
}

bool Connection::transmit(std::string& out) {
  if (out.empty()) return true;
  const bool produced_all = out.size() <= kUnreadOutputBytesMax;
  auto sent = send(fd_, out.data(), out.size(), MSG_NOSIGNAL);
  if (sent < 0) {
    if (errno != EAGAIN && errno != EINTR) {
      out.clear();
      return close();
    }
    sent = 0;
  }
  const auto bytes = static_cast<std::size_t>(sent);
  if (session_ && (bytes > 0 || unsent_.empty())) since_us_ = set_.context_.now_us;
  if (&out == &unsent_) {
    unsent_.erase(0, bytes);
    if (unsent_.empty()) std::string().swap(unsent_);
  } else {
    if (bytes < out.size()) unsent_.assign(out, bytes);
    out.clear();
  }
  // The session stopped because there was too much to send; now there is room again.
  if (session_ && !produced_all && unsent_.size() <= kUnreadOutputBytesMax) output_ready();
  return true;
}

bool Connection::after_write() {
  if (unsent_.empty() && !lingering_ && session_ && session_->finished() && !is_ready_) return finish();
  update_interest();
  return true;
}

// All output of the session is sent.
bool Connection::finish() {
  if (tls_ && !close_notify_sent_) {
    close_notify_sent_ = true;
    std::string& out = sealed_output();
    tls_->end(out);
    return transmit(out) && after_write();
  }
  // Nothing was sent just now, so nothing can get lost.
  return since_us_ == set_.context_.now_us ? linger() : close();
}

// Sends nothing more, and lets the peer read the last bytes before the socket is closed.
bool Connection::linger() {
  if (input_ended_ || !unsent_.empty()) return close();
  shutdown(fd_, SHUT_WR);
  lingering_ = true;
  tls_.reset();
  since_us_ = set_.context_.now_us;
  update_interest();
  return true;
}

// A peer that does not read our output will not read the reason either.
bool Connection::shed() {
  if (lingering_ || !session_ || !unsent_.empty()) return close();
  std::string& out = output();
  session_->shed(out);
  return write(out) && after_write();
}

bool Connection::close() {
  set_.remove(*this);
  return false;
}

void Connection::output_ready() {
  if (is_ready_) return;
  is_ready_ = true;
  set_.ready_.push_back(this);
}

void Connection::update_interest() {
  const bool reads = lingering_ || (!input_ended_ && unsent_.size() <= kUnreadOutputBytesMax &&
                                    (!session_ || (session_->wants_input() && !session_->finished())));
  const std::uint32_t wanted =
      (reads ? std::uint32_t{EPOLLIN} : 0u) | (unsent_.empty() ? 0u : std::uint32_t{EPOLLOUT});
  if (wanted == interest_) return;
  interest_ = wanted;
  set_.loop_.modify(fd_, interest_, *this);
}

}  // namespace sluice::net

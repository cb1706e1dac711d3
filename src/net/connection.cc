#include "net/connection.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <unistd.h>

#include <algorithm>
#include <cassert>
#include <cerrno>

namespace sluice::net {
namespace {

constexpr std::size_t kInputBytes = 64u << 10;
constexpr std::int64_t kLingerUs = 2'000'000;

// For who writes http:// where it should be https://.
constexpr std::string_view kPlainHttpAnswer =
    "HTTP/1.1 400 Bad Request\r\ncontent-type: text/plain\r\ncontent-length: 47\r\nconnection: close\r\n\r\n"
    "this port speaks TLS; write https:// to use it\n";

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

ConnectionSet::ConnectionSet(EventLoop& loop, SessionContext& context)
    : loop_(loop), context_(context), input_(new char[kInputBytes]) {}

ConnectionSet::~ConnectionSet() = default;

void ConnectionSet::add(int fd, Peer peer, TlsServerContext* tls) {
  const int yes = 1;
  setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof(yes));
  connections_.push_back(std::make_unique<Connection>(*this, fd, std::move(peer), tls));
  connections_.back()->index_ = connections_.size() - 1;
}

void ConnectionSet::remove(Connection& connection) {
  if (connection.is_ready_) std::ranges::replace(ready_, &connection, nullptr);
  const std::size_t index = connection.index_;
  std::swap(connections_[index], connections_.back());
  connections_[index]->index_ = index;
  connections_.pop_back();
}

void ConnectionSet::flush() {
  // Resuming may make the same connection ready once more; that is for the next round.
  const std::size_t count = ready_.size();
  for (std::size_t i = 0; i < count; ++i) {
    Connection* connection = ready_[i];
    if (!connection) continue;
    connection->is_ready_ = false;
    ready_[i] = nullptr;
    connection->resume();
  }
  ready_.erase(ready_.begin(), ready_.begin() + static_cast<std::ptrdiff_t>(count));
}

void ConnectionSet::tick() {
  // From the back: a connection that goes is replaced by one that had its turn.
  for (std::size_t i = connections_.size(); i-- > 0;) connections_[i]->tick();
}

void ConnectionSet::drain() {
  for (std::size_t i = connections_.size(); i-- > 0;) connections_[i]->drain();
}

Connection::Connection(ConnectionSet& set, int fd, Peer peer, TlsServerContext* tls)
    : set_(set),
      fd_(fd),
      peer_(std::move(peer)),
      tls_context_(tls),
      tls_(tls ? tls->accept(peer_.address, peer_.port) : nullptr),
      since_us_(set.context_.now_us) {
  set_.loop_.add(fd_, interest_, *this);
}

Connection::~Connection() {
  if (shaking_hands_) tls_context_->count_handshake(false);
  set_.loop_.remove(fd_, *this);
  ::close(fd_);
}

void Connection::on_events(std::uint32_t events) {
  if (events & EPOLLERR) {
    close();
    return;
  }
  if ((events & EPOLLOUT) && !unsent_.empty() && (!transmit(unsent_) || !after_write())) return;
  if (events & (EPOLLIN | EPOLLHUP)) read();
}

bool Connection::read() {
  const auto bytes = recv(fd_, set_.input_.get(), kInputBytes, 0);
  if (bytes < 0) return errno == EAGAIN || errno == EINTR ? true : close();
  if (bytes == 0) return end_of_input();
  if (lingering_) return true;
  const std::span input(set_.input_.get(), static_cast<std::size_t>(bytes));
  return tls_ ? receive_sealed({input.data(), input.size()}) : receive(input);
}

bool Connection::end_of_input() {
  input_ended_ = true;
  if (lingering_ || !session_) return close();
  session_->end_of_input();
  return after_write();
}

bool Connection::receive_sealed(std::string_view bytes) {
  if (tls_->status() == TlsEngine::Status::kHandshaking) shaking_hands_ = true;
  std::string& plain = set_.opened_;
  plain.clear();
  std::string& out = sealed_output();
  tls_->receive(bytes, plain, out);
  if (tls_->heard_plain_http()) out += kPlainHttpAnswer;
  if (!transmit(out)) return false;
  if (tls_->status() == TlsEngine::Status::kFailed) {
    if (shaking_hands_) tls_context_->tell_failed_handshake(tls_->problem(), set_.context_.now_us);
    return linger();
  }
  if (shaking_hands_ && tls_->status() != TlsEngine::Status::kHandshaking) {
    shaking_hands_ = false;
    tls_context_->count_handshake(true);
    peer_.names = tls_->peer_names();
  }
  if (!plain.empty() && !receive(plain)) return false;
  if (tls_->status() == TlsEngine::Status::kEnded && !input_ended_) return end_of_input();
  if (!session_) update_interest();  // there may be something unsent of the handshake
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
  if (!first_bytes_.empty()) std::string().swap(first_bytes_);
  return write(out) && after_write();
}

bool Connection::resume() {
  if (lingering_) return true;
  // The session counts what it says, not what TLS still has to send. When that gets less, we are back.
  if (tls_ && unsent_.size() > kUnreadOutputBytesMax) return true;
  std::string& out = output();
  session_->resume(out);
  return write(out) && after_write();
}

bool Connection::tick() {
  const std::int64_t waited_us = set_.context_.now_us - since_us_;
  if (lingering_) return waited_us >= kLingerUs ? close() : true;
  // Clients of Redis connect before they have something to say, and stay.
  const bool may_be_silent =
      peer_.port == Port::kRedis && (!tls_ || tls_->status() != TlsEngine::Status::kHandshaking);
  if (!session_)
    return waited_us >= set_.context_.timeouts.request_head_us && !may_be_silent ? close() : true;
  if (!unsent_.empty() && waited_us >= set_.context_.timeouts.unread_answer_us) return close();
  std::string& out = output();
  session_->tick(out);
  return write(out) && after_write();
}

bool Connection::drain() {
  // Who has sent something is not idle, even if nobody has looked at it yet.
  if ((interest_ & EPOLLIN) && !read()) return false;
  if (lingering_) return true;
  if (!session_) return close();
  std::string& out = output();
  session_->drain(out);
  return write(out) && after_write();
}

// Bytes that can't be sent at once wait in unsent_; otherwise one buffer serves all connections.
std::string& Connection::output() { return unsent_.empty() || tls_ ? set_.output_ : unsent_; }

bool Connection::write(std::string& said) {
  if (!tls_) return transmit(said);
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
  // The session stopped because there was so much to send; now there is room again.
  if (session_ && !produced_all && unsent_.size() <= kUnreadOutputBytesMax) output_ready();
  return true;
}

bool Connection::after_write() {
  if (unsent_.empty() && !lingering_ && session_ && session_->finished() && !is_ready_) return finish();
  update_interest();
  return true;
}

// All that the session had to say is sent.
bool Connection::finish() {
  if (tls_ && !said_goodbye_) {
    said_goodbye_ = true;
    std::string& out = sealed_output();
    tls_->end(out);
    return transmit(out) && after_write();
  }
  // Nothing was sent just now, so nothing can get lost.
  return since_us_ == set_.context_.now_us ? linger() : close();
}

// Says nothing more, and lets the peer read the last words before the socket goes.
bool Connection::linger() {
  if (input_ended_ || !unsent_.empty()) return close();
  shutdown(fd_, SHUT_WR);
  lingering_ = true;
  since_us_ = set_.context_.now_us;
  update_interest();
  return true;
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

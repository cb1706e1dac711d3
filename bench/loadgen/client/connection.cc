#include "loadgen/client/connection.h"

#include <netdb.h>
#include <netinet/tcp.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

namespace sluice::loadgen {
namespace {

constexpr std::size_t kReadBytes = 256u << 10;

socklen_t size_of(const sockaddr_storage& address) {
  return address.ss_family == AF_INET6 ? sizeof(sockaddr_in6) : sizeof(sockaddr_in);
}

const sockaddr* plain(const sockaddr_storage& address) { return reinterpret_cast<const sockaddr*>(&address); }

}  // namespace

std::string host_of(const std::string& host_and_port) {
  const std::size_t colon = host_and_port.rfind(':');
  if (colon == std::string::npos || colon == 0) return "";
  const bool bracketed = host_and_port.front() == '[' && host_and_port[colon - 1] == ']';
  return bracketed ? host_and_port.substr(1, colon - 2) : host_and_port.substr(0, colon);
}

std::expected<sockaddr_storage, std::string> resolve(const std::string& host_and_port) {
  const std::string host = host_of(host_and_port);
  const std::size_t colon = host_and_port.rfind(':');
  if (host.empty() || colon + 1 == host_and_port.size())
    return std::unexpected("'" + host_and_port + "' is not an address; write HOST:PORT.");
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* found = nullptr;
  const int error = getaddrinfo(host.c_str(), host_and_port.c_str() + colon + 1, &hints, &found);
  if (error != 0)
    return std::unexpected("cannot resolve '" + host_and_port + "': " + gai_strerror(error) + ".");
  sockaddr_storage address{};
  std::memcpy(&address, found->ai_addr, found->ai_addrlen);
  freeaddrinfo(found);
  return address;
}

std::expected<void, std::string> probe(const sockaddr_storage& address, const std::string& host_and_port) {
  const int fd = socket(address.ss_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
  const int failed = fd < 0 || connect(fd, plain(address), size_of(address)) != 0;
  const int error = errno;
  if (fd >= 0) close(fd);
  if (failed)
    return std::unexpected("cannot connect to " + host_and_port + ": " + std::strerror(error) +
                           "; is the server running there?");
  return {};
}

Connection::Connection(int epoll, const sockaddr_storage& address, MakeProtocol make_protocol,
                       MakeTls make_tls)
    : epoll_(epoll),
      address_(address),
      make_protocol_(std::move(make_protocol)),
      make_tls_(std::move(make_tls)) {}

Connection::~Connection() {
  if (fd_ >= 0) close(fd_);
}

void Connection::open() {
  out_.clear();
  out_sent_ = 0;
  watching_writable_ = false;
  protocol_ = make_protocol_();
  if (make_tls_) {
    tls_ = make_tls_(failure_);
    if (!tls_) return;
    tls_->begin(out_);
  }
  fd_ = socket(address_.ss_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
  if (fd_ < 0) {
    failure_ = "cannot open a socket: " + std::string(std::strerror(errno)) +
               "; use fewer connections or raise ulimit -n";
    return;
  }
  const int on = 1;
  setsockopt(fd_, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  // Still connecting, or refused: the first read tells.
  [[maybe_unused]] const int connected = connect(fd_, plain(address_), size_of(address_));
  epoll_event event{};
  event.events = EPOLLIN;
  event.data.ptr = this;
  epoll_ctl(epoll_, EPOLL_CTL_ADD, fd_, &event);
}

// Moves the protocol's output into out_, encrypted if there is TLS. Until the TLS handshake is done, it
// waits.
void Connection::write_out() {
  if (!tls_) return protocol_->write(out_);
  if (!tls_->open()) return;
  static thread_local std::string plain;
  plain.clear();
  protocol_->write(plain);
  tls_->send(plain, out_);
}

void Connection::flush() {
  if (!is_open()) return;
  write_out();
  while (out_sent_ < out_.size()) {
    const ssize_t n = send(fd_, out_.data() + out_sent_, out_.size() - out_sent_, MSG_NOSIGNAL);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return watch_writable(errno == EAGAIN);  // a broken connection is detected by the next read
    out_sent_ += static_cast<std::size_t>(n);
  }
  out_.clear();
  out_sent_ = 0;
  watch_writable(false);
}

void Connection::watch_writable(bool on) {
  if (on == watching_writable_) return;
  watching_writable_ = on;
  epoll_event event{};
  event.events = EPOLLIN | (on ? EPOLLOUT : 0u);
  event.data.ptr = this;
  epoll_ctl(epoll_, EPOLL_CTL_MOD, fd_, &event);
}

void Connection::on_readable(std::int64_t now_us, std::vector<FinishedCall>& finished) {
  static thread_local std::string buffer(kReadBytes, '\0');
  const ssize_t n = recv(fd_, buffer.data(), buffer.size(), 0);
  if (n < 0 && (errno == EAGAIN || errno == EINTR)) return;
  if (n == 0) return lose("the server closed the connection", now_us, finished);
  if (n < 0) return lose("connection lost: " + std::string(std::strerror(errno)), now_us, finished);
  std::string_view bytes(buffer.data(), static_cast<std::size_t>(n));
  static thread_local std::string opened;
  if (tls_) {
    opened.clear();
    tls_->receive(bytes, opened, out_);
    if (tls_->status() == net::TlsEngine::Status::kFailed) return lose(tls_->problem(), now_us, finished);
    bytes = opened;
  }
  if (const auto read = protocol_->read(bytes, finished); !read) return lose(read.error(), now_us, finished);
  if (!protocol_->closing()) return;
  std::vector<std::int64_t> waiting;
  protocol_->pending(waiting);
  if (waiting.empty()) lose({}, now_us, finished);
}

void Connection::lose(const std::string& reason, std::int64_t now_us, std::vector<FinishedCall>& finished) {
  std::vector<std::int64_t> waiting;
  protocol_->pending(waiting);
  for (const std::int64_t intended_us : waiting) finished.push_back({intended_us, CallOutcome::kFailed});
  if (failure_.empty()) failure_ = protocol_->first_failure();
  if (failure_.empty() && !waiting.empty()) failure_ = reason;
  close(fd_);
  fd_ = -1;
  reopen_at_us_ = now_us + kReconnectAfterUs;
}

void Connection::pending(std::vector<std::int64_t>& intended_us) const {
  if (is_open()) protocol_->pending(intended_us);
}

const std::string& Connection::first_failure() const {
  return failure_.empty() && is_open() ? protocol_->first_failure() : failure_;
}

}  // namespace sluice::loadgen

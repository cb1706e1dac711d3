#include "net/socket/tcp_transport.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cassert>
#include <cerrno>
#include <cstring>
#include <string>
#include <utility>

#include "net/tls/tls_channel.h"

namespace sluice::net {
namespace {

constexpr std::size_t kReadBytes = 64u << 10;

// A dead machine sends nothing. The kernel detects it within these times, even on idle connections.
constexpr int kProbeAfterIdleSeconds = 15, kProbeEverySeconds = 5;
constexpr int kUnacknowledgedMsMax = 20'000;

// REQUIRES: the path is short enough for a socket, as parse_store_url() ensures.
SocketAddress unix_address(const std::string& path) {
  sockaddr_un socket{};
  socket.sun_family = AF_UNIX;
  assert(path.size() < sizeof(socket.sun_path));
  std::memcpy(socket.sun_path, path.data(), path.size());
  SocketAddress address{.size = sizeof(socket)};
  std::memcpy(&address.bytes, &socket, sizeof(socket));
  return address;
}

void set_tcp_options(int fd) {
  const auto set = [fd](int level, int name, int value) {
    setsockopt(fd, level, name, &value, sizeof(value));
  };
  set(IPPROTO_TCP, TCP_NODELAY, 1);
  set(SOL_SOCKET, SO_KEEPALIVE, 1);
  set(IPPROTO_TCP, TCP_KEEPIDLE, kProbeAfterIdleSeconds);
  set(IPPROTO_TCP, TCP_KEEPINTVL, kProbeEverySeconds);
  set(IPPROTO_TCP, TCP_USER_TIMEOUT, kUnacknowledgedMsMax);  // instead of a number of probes
}

// A connecting socket, or -1 with errno.
int begin_to_connect(const SocketAddress& to) {
  const int fd = socket(to.bytes.ss_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
  if (fd < 0) return -1;
  if (to.bytes.ss_family != AF_UNIX) set_tcp_options(fd);
  if (connect(fd, reinterpret_cast<const sockaddr*>(&to.bytes), to.size) == 0 || errno == EINPROGRESS)
    return fd;
  const int error = errno;
  close(fd);
  errno = error;
  return -1;
}

// One socket.
class TcpChannel final : public redis::Channel, private EventLoop::Watcher {
 public:
  TcpChannel(EventLoop& loop, int fd, redis::ChannelEvents& events) : loop_(loop), fd_(fd), events_(events) {
    loop_.add(fd_, EPOLLOUT, *this);
  }

  ~TcpChannel() override {
    loop_.remove(fd_, *this);
    close(fd_);
    if (gone_ != nullptr) *gone_ = true;
  }

  void send(std::string_view bytes) override {
    assert(connected_);
    if (unsent_.empty()) bytes.remove_prefix(write_some(bytes));
    if (bytes.empty()) return;
    if (unsent_.empty()) loop_.modify(fd_, EPOLLIN | EPOLLOUT, *this);
    unsent_.append(bytes);
  }

  void poll() override {
    if (connected_) read_some();
  }

 private:
  void on_events(std::uint32_t events) override {
    if (!connected_) return finish_connecting();
    if ((events & EPOLLOUT) != 0) flush();
    if ((events & (EPOLLIN | EPOLLHUP | EPOLLERR)) != 0) read_some();
  }

  void finish_connecting() {
    int error = 0;
    socklen_t size = sizeof(error);
    getsockopt(fd_, SOL_SOCKET, SO_ERROR, &error, &size);
    if (error != 0) return events_.on_closed(std::strerror(error));
    connected_ = true;
    loop_.modify(fd_, EPOLLIN, *this);
    events_.on_connected();
  }

  // A failure here is left to the next read, which will report it.
  std::size_t write_some(std::string_view bytes) {
    const ssize_t written = ::send(fd_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    return written > 0 ? static_cast<std::size_t>(written) : 0;
  }

  void flush() {
    unsent_.erase(0, write_some(unsent_));
    if (unsent_.empty()) loop_.modify(fd_, EPOLLIN, *this);
  }

  void read_some() {
    static thread_local char buffer[kReadBytes];
    ssize_t got = 0;
    do {
      got = recv(fd_, buffer, sizeof(buffer), 0);
      if (got <= 0) break;
      if (!hand_over({buffer, static_cast<std::size_t>(got)})) return;
    } while (got == sizeof(buffer));
    if (got > 0 || (got < 0 && (errno == EAGAIN || errno == EINTR))) return;
    events_.on_closed(got == 0 ? "closed by the server" : std::strerror(errno));
  }

  // The owner may destroy us in the callback. Returns whether we still exist.
  bool hand_over(std::string_view bytes) {
    bool gone = false;
    gone_ = &gone;
    events_.on_bytes(bytes);
    if (gone) return false;
    gone_ = nullptr;
    return true;
  }

  EventLoop& loop_;
  const int fd_;
  redis::ChannelEvents& events_;
  bool connected_ = false;
  bool* gone_ = nullptr;  // set true when we are destroyed
  std::string unsent_;
};

}  // namespace

std::unique_ptr<redis::Channel> TcpTransport::connect(const redis::Address& address,
                                                      redis::ChannelEvents& events, std::string& why) {
  SocketAddress to;
  if (!address.unix_path.empty()) {
    to = unix_address(address.unix_path);
  } else if (!hosts_.find(address.host, address.port, to, why)) {
    return nullptr;
  }
  std::unique_ptr<TlsEngine> tls;
  if (address.tls) {
    TlsClientContext& context = contexts_.try_emplace(*address.tls, *address.tls).first->second;
    tls = context.connect(address, why, application_protocol_);
    if (!tls) return nullptr;
  }
  const int fd = begin_to_connect(to);
  if (fd < 0) {
    why = std::strerror(errno);
    return nullptr;
  }
  const auto make_tcp = [&](redis::ChannelEvents& hears) {
    return std::make_unique<TcpChannel>(loop_, fd, hears);
  };
  if (tls) return std::make_unique<TlsChannel>(std::move(tls), events, make_tcp);
  return make_tcp(events);
}

}  // namespace sluice::net

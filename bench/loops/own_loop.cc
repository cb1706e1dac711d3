// The event loop of the server, with a session that does nothing but answer. One thread.
//
//   own_loop 9090
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cstdlib>
#include <iostream>
#include <memory>
#include <string>

#include "constant_session.h"
#include "net/socket/event_loop.h"

namespace {

using sluice::net::EventLoop;

constexpr std::size_t kReadBytes = 64u << 10;

class Connection final : EventLoop::Watcher {
 public:
  Connection(EventLoop& loop, int fd) : loop_(loop), fd_(fd) { loop_.add(fd_, EPOLLIN, *this); }
  ~Connection() {
    loop_.remove(fd_, *this);
    close(fd_);
  }
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;

 private:
  void on_events(std::uint32_t events) override {
    if ((events & EPOLLIN) && !read()) {
      delete this;
      return;
    }
    if (!unsent_.empty() && !write()) delete this;
  }

  bool read() {
    static std::array<unsigned char, kReadBytes> buffer;
    const ssize_t size = recv(fd_, buffer.data(), buffer.size(), 0);
    return size > 0 && session_.receive(std::span(buffer.data(), static_cast<std::size_t>(size)), unsent_);
  }

  bool write() {
    const ssize_t size = send(fd_, unsent_.data(), unsent_.size(), MSG_NOSIGNAL);
    if (size < 0 && errno != EAGAIN) return false;
    unsent_.erase(0, size < 0 ? 0 : static_cast<std::size_t>(size));
    if (unsent_.empty() == waits_to_write_) {
      waits_to_write_ = !unsent_.empty();
      loop_.modify(fd_, waits_to_write_ ? EPOLLOUT : EPOLLIN, *this);
    }
    return true;
  }

  EventLoop& loop_;
  const int fd_;
  bench::ConstantSession session_;
  std::string unsent_;
  bool waits_to_write_ = false;
};

class Listener final : EventLoop::Watcher {
 public:
  Listener(EventLoop& loop, std::uint16_t port)
      : loop_(loop), fd_(socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0)) {
    const int on = 1;
    setsockopt(fd_, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(port);
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    if (bind(fd_, reinterpret_cast<sockaddr*>(&address), sizeof(address)) != 0 || listen(fd_, 1024) != 0) {
      perror("own_loop");
      std::exit(1);
    }
    loop_.add(fd_, EPOLLIN, *this);
  }

 private:
  void on_events(std::uint32_t) override {
    const int fd = accept4(fd_, nullptr, nullptr, SOCK_NONBLOCK);
    if (fd < 0) return;
    const int on = 1;
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
    new Connection(loop_, fd);  // deletes itself when its peer is gone
  }

  EventLoop& loop_;
  const int fd_;
};

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) {
    std::cerr << "usage: own_loop PORT\n";
    return 2;
  }
  EventLoop loop;
  const Listener listener(loop, static_cast<std::uint16_t>(std::atoi(argv[1])));
  while (true) {
    loop.wait(1000);
    loop.dispatch();
  }
}

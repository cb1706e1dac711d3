#pragma once

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <chrono>
#include <thread>

namespace sluice::ledger {

// A link to a server on this machine that carries its answers slowly, for one connection at a time. Runs on
// its own thread.
class SlowLink {
 public:
  SlowLink(std::uint16_t server_port, std::size_t bytes_per_second)
      : server_port_(server_port), bytes_per_second_(bytes_per_second) {
    listener_ = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_in address = loopback(0);
    socklen_t size = sizeof(address);
    EXPECT_EQ(bind(listener_, reinterpret_cast<sockaddr*>(&address), size), 0);
    EXPECT_EQ(listen(listener_, 8), 0);
    EXPECT_EQ(getsockname(listener_, reinterpret_cast<sockaddr*>(&address), &size), 0);
    port_ = ntohs(address.sin_port);
    thread_ = std::thread([this] { run(); });
  }
  ~SlowLink() {
    over_ = true;
    thread_.join();
    close(listener_);
  }
  SlowLink(const SlowLink&) = delete;
  SlowLink& operator=(const SlowLink&) = delete;

  std::uint16_t port() const { return port_; }

 private:
  static constexpr int kTickMs = 10;

  static sockaddr_in loopback(std::uint16_t port) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(port);
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    return address;
  }

  void run() {
    while (!over_) {
      pollfd watched{listener_, POLLIN, 0};
      if (poll(&watched, 1, kTickMs) <= 0) continue;
      const int client = accept(listener_, nullptr, nullptr);
      const int server = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
      const int small = 64 << 10;  // otherwise the kernel buffers megabytes
      setsockopt(server, SOL_SOCKET, SO_RCVBUF, &small, sizeof(small));
      const sockaddr_in address = loopback(server_port_);
      EXPECT_EQ(connect(server, reinterpret_cast<const sockaddr*>(&address), sizeof(address)), 0);
      carry(client, server);
      close(client);
      close(server);
    }
  }

  void carry(int client, int server) {
    while (!over_) {
      std::array<pollfd, 2> watched{pollfd{client, POLLIN, 0}, pollfd{server, POLLIN, 0}};
      if (poll(watched.data(), watched.size(), kTickMs) <= 0) continue;
      if (watched[0].revents != 0 && pass(client, server) == 0) return;
      if (watched[1].revents == 0) continue;
      const std::size_t bytes = pass(server, client);
      if (bytes == 0) return;
      std::this_thread::sleep_for(std::chrono::microseconds(bytes * 1'000'000 / bytes_per_second_));
    }
  }

  // Returns how many bytes; 0: a side has closed.
  static std::size_t pass(int from, int to) {
    std::array<char, 64 << 10> buffer;
    const ssize_t bytes = read(from, buffer.data(), buffer.size());
    for (ssize_t sent = 0; sent < bytes;) {
      const ssize_t more =
          send(to, buffer.data() + sent, static_cast<std::size_t>(bytes - sent), MSG_NOSIGNAL);
      if (more <= 0) return 0;
      sent += more;
    }
    return bytes > 0 ? static_cast<std::size_t>(bytes) : 0;
  }

  const std::uint16_t server_port_;
  const std::size_t bytes_per_second_;
  int listener_ = -1;
  std::uint16_t port_ = 0;
  std::atomic<bool> over_ = false;
  std::thread thread_;
};

}  // namespace sluice::ledger

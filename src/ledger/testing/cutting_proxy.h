#pragma once

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <list>
#include <string>
#include <string_view>
#include <thread>

namespace sluice::ledger {

// A proxy between a RedisLedger and its server on this machine, for tests. It cuts the connection at the
// worst moment: while the next append is on its way. Its functions may be called from any thread.
class CuttingProxy {
 public:
  enum class Cut : std::uint8_t {
    kNone,
    kReply,    // the server gets the append, its reply is lost
    kCommand,  // the server never gets the append
    kDelay,    // the server gets it at deliver()
  };

  explicit CuttingProxy(std::uint16_t server_port) : server_port_(server_port) {
    listener_ = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_in address = loopback(0);
    socklen_t size = sizeof(address);
    EXPECT_EQ(bind(listener_, reinterpret_cast<const sockaddr*>(&address), size), 0);
    EXPECT_EQ(listen(listener_, 16), 0);
    getsockname(listener_, reinterpret_cast<sockaddr*>(&address), &size);
    port_ = ntohs(address.sin_port);
    thread_ = std::thread([this] { run(); });
  }
  ~CuttingProxy() {
    over_ = true;
    thread_.join();
    for (const Pair& pair : pairs_) close_both(pair);
    if (delayed_to_ >= 0) close(delayed_to_);
    close(listener_);
  }
  CuttingProxy(const CuttingProxy&) = delete;
  CuttingProxy& operator=(const CuttingProxy&) = delete;

  std::uint16_t port() const { return port_; }
  void cut_next(Cut cut) { next_ = cut; }
  bool has_cut() const { return next_ == Cut::kNone; }

  // Delivers the delayed append now. Returns the server's reply. REQUIRES: has_cut() after kDelay.
  std::string deliver() {
    write_all(delayed_to_, delayed_);
    return read_some(delayed_to_);
  }

 private:
  struct Pair {
    int client = -1, server = -1;
  };

  static sockaddr_in loopback(std::uint16_t port) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    address.sin_port = htons(port);
    return address;
  }
  static void close_both(const Pair& pair) {
    close(pair.client);
    if (pair.server >= 0) close(pair.server);
  }
  static std::string read_some(int fd) {
    char buffer[65536];
    const ssize_t got = recv(fd, buffer, sizeof(buffer), 0);
    return {buffer, got > 0 ? static_cast<std::size_t>(got) : 0};
  }
  static void write_all(int fd, std::string_view bytes) {
    while (!bytes.empty()) {
      const ssize_t sent = send(fd, bytes.data(), bytes.size(), MSG_NOSIGNAL);
      if (sent <= 0) return;
      bytes.remove_prefix(static_cast<std::size_t>(sent));
    }
  }

  void run() {
    while (!over_) {
      if (is_readable(listener_, 1)) accept_one();
      for (auto pair = pairs_.begin(); pair != pairs_.end();)
        pair = carry(*pair) ? std::next(pair) : pairs_.erase(pair);
    }
  }
  static bool is_readable(int fd, int timeout_ms) {
    pollfd watched{fd, POLLIN, 0};
    return poll(&watched, 1, timeout_ms) > 0;
  }
  void accept_one() {
    Pair pair{accept(listener_, nullptr, nullptr), socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)};
    const sockaddr_in server = loopback(server_port_);
    EXPECT_EQ(connect(pair.server, reinterpret_cast<const sockaddr*>(&server), sizeof(server)), 0);
    pairs_.push_back(pair);
  }

  // Forwards what has arrived to the other side. False: the connection is cut.
  bool carry(Pair& pair) {
    if (is_readable(pair.server, 0)) {
      const std::string bytes = read_some(pair.server);
      if (bytes.empty()) return close_both(pair), false;
      write_all(pair.client, bytes);
    }
    if (!is_readable(pair.client, 0)) return true;
    const std::string bytes = read_some(pair.client);
    if (bytes.empty()) return close_both(pair), false;
    if (next_ == Cut::kNone || !bytes.contains("\r\nappend\r\n")) {
      write_all(pair.server, bytes);
      return true;
    }
    const Cut cut = next_;
    if (cut == Cut::kReply) {
      write_all(pair.server, bytes);
      EXPECT_NE(read_some(pair.server), "");
    } else if (cut == Cut::kDelay) {
      delayed_ = bytes;
      delayed_to_ = std::exchange(pair.server, -1);
    }
    next_ = Cut::kNone;
    close_both(pair);
    return false;
  }

  const std::uint16_t server_port_;
  int listener_ = -1;
  std::uint16_t port_ = 0;
  std::atomic<bool> over_ = false;
  std::atomic<Cut> next_ = Cut::kNone;
  std::list<Pair> pairs_;
  std::string delayed_;
  int delayed_to_ = -1;
  std::thread thread_;
};

}  // namespace sluice::ledger

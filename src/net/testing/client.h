#pragma once

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstdint>
#include <string>
#include <string_view>

namespace sluice::net {

// A blocking TCP client, for tests. Not thread-safe.
class TestClient {
 public:
  explicit TestClient(std::uint16_t port) : fd_(socket(AF_INET, SOCK_STREAM, 0)) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(port);
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    connected_ = connect(fd_, reinterpret_cast<const sockaddr*>(&address), sizeof(address)) == 0;
  }
  ~TestClient() { close(fd_); }
  TestClient(const TestClient&) = delete;
  TestClient& operator=(const TestClient&) = delete;

  bool connected() const { return connected_; }
  // Returns false if the server has closed.
  bool send(std::string_view bytes) const {
    while (!bytes.empty()) {
      const auto sent = ::send(fd_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
      if (sent <= 0) return false;
      bytes.remove_prefix(static_cast<std::size_t>(sent));
    }
    return true;
  }
  void half_close() const { shutdown(fd_, SHUT_WR); }
  // Reads until this many bytes have arrived, or the server closes.
  std::string read(std::size_t bytes) const {
    std::string text(bytes, '\0');
    std::size_t got = 0;
    while (got < bytes) {
      const auto n = recv(fd_, text.data() + got, bytes - got, 0);
      if (n <= 0) break;
      got += static_cast<std::size_t>(n);
    }
    text.resize(got);
    return text;
  }
  // Reads what has arrived, at least one byte. Empty: the server has closed.
  std::string read_some() const {
    std::string text(64u << 10, '\0');
    const auto n = recv(fd_, text.data(), text.size(), 0);
    text.resize(n > 0 ? static_cast<std::size_t>(n) : 0);
    return text;
  }
  std::string read_to_end() const { return read(64u << 20); }
  // Reads up to and including that text.
  std::string read_until(std::string_view end) const {
    std::string text;
    while (!text.ends_with(end)) {
      const std::string one = read(1);
      if (one.empty()) break;
      text += one;
    }
    return text;
  }

 private:
  int fd_;
  bool connected_ = false;
};

}  // namespace sluice::net

#include "cli/http_post.h"

#include <fmt/format.h>
#include <netdb.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <cstring>
#include <memory>
#include <utility>

#include "cli/command.h"

namespace sluice::cli {
namespace {

constexpr timeval kTimeout{.tv_sec = 10, .tv_usec = 0};
constexpr std::size_t kAnswerBytesMax = 4u << 20;

class Socket {
 public:
  explicit Socket(int fd) : fd_(fd) {}
  ~Socket() {
    if (fd_ >= 0) close(fd_);
  }
  Socket(Socket&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  Socket(const Socket&) = delete;
  Socket& operator=(const Socket&) = delete;
  Socket& operator=(Socket&&) = delete;
  int fd() const { return fd_; }

 private:
  int fd_;
};

Socket connect_to(const std::string& server) {
  const auto colon = server.rfind(':');
  if (colon == std::string::npos)
    throw CommandError(
        fmt::format("--server {} has no port; write HOST:PORT, for example 127.0.0.1:8080", server));
  std::string host = server.substr(0, colon);
  if (host.size() > 2 && host.front() == '[' && host.back() == ']') host = host.substr(1, host.size() - 2);
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* found = nullptr;
  if (const int rc = getaddrinfo(host.c_str(), server.c_str() + colon + 1, &hints, &found); rc != 0)
    throw CommandError(fmt::format("cannot resolve {}: {}", server, gai_strerror(rc)));
  const std::unique_ptr<addrinfo, decltype(&freeaddrinfo)> addresses(found, freeaddrinfo);
  int error = 0;
  for (const addrinfo* a = found; a; a = a->ai_next) {
    Socket s(socket(a->ai_family, a->ai_socktype | SOCK_CLOEXEC, a->ai_protocol));
    setsockopt(s.fd(), SOL_SOCKET, SO_RCVTIMEO, &kTimeout, sizeof kTimeout);
    setsockopt(s.fd(), SOL_SOCKET, SO_SNDTIMEO, &kTimeout, sizeof kTimeout);
    if (connect(s.fd(), a->ai_addr, a->ai_addrlen) == 0) return s;
    error = errno;
  }
  throw CommandError(fmt::format(
      "cannot reach a server at {}: {}; start one with `sluice serve`, or name another with --server", server,
      std::strerror(error)));
}

std::string exchange(const Socket& socket, const std::string& server, std::string_view request) {
  while (!request.empty()) {
    const ssize_t n = send(socket.fd(), request.data(), request.size(), MSG_NOSIGNAL);
    if (n <= 0) throw CommandError(fmt::format("sending to {} failed: {}", server, std::strerror(errno)));
    request.remove_prefix(static_cast<std::size_t>(n));
  }
  std::string answer;
  char buffer[16384];
  while (answer.size() < kAnswerBytesMax) {
    const ssize_t n = recv(socket.fd(), buffer, sizeof buffer, 0);
    if (n == 0) return answer;
    if (n < 0) throw CommandError(fmt::format("no answer from {}: {}", server, std::strerror(errno)));
    answer.append(buffer, static_cast<std::size_t>(n));
  }
  throw CommandError(fmt::format("the answer from {} is longer than {} bytes", server, kAnswerBytesMax));
}

}  // namespace

HttpAnswer http_post(const std::string& server, std::string_view path, std::string_view json) {
  return http_send(server, {.method = "POST", .path = path, .json = json});
}

HttpAnswer http_send(const std::string& server, const HttpQuestion& question) {
  const auto& [method, path, json, token] = question;
  const Socket socket = connect_to(server);
  std::string request =
      fmt::format("{} {} HTTP/1.1\r\nhost: {}\r\nconnection: close\r\n", method, path, server);
  if (!token.empty()) request += fmt::format("authorization: Bearer {}\r\n", token);
  if (!json.empty())
    request += fmt::format("content-type: application/json\r\ncontent-length: {}\r\n", json.size());
  const std::string answer = exchange(socket, server, request.append("\r\n").append(json));
  // "HTTP/1.1 200 OK"
  constexpr std::size_t kStatusAt = 9;
  HttpAnswer parsed;
  const auto body = answer.find("\r\n\r\n");
  if (body == std::string::npos || !answer.starts_with("HTTP/1.") ||
      std::from_chars(answer.data() + kStatusAt, answer.data() + kStatusAt + 3, parsed.status).ec !=
          std::errc())
    throw CommandError(fmt::format("what answers at {} does not speak HTTP", server));
  parsed.body = answer.substr(body + 4);
  return parsed;
}

}  // namespace sluice::cli

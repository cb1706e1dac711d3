#include "cli/client/http_exchange.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <netdb.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <memory>
#include <optional>
#include <utility>

#include "cli/command.h"
#include "net/tls/tls_context.h"

namespace sluice::cli {
namespace {

template <class T>
std::optional<T> digits(std::string_view text) {
  T value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

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

// Waits until the socket is ready. Returns false if the deadline has passed.
bool wait_for(const Socket& socket, short events, const Deadline& deadline) {
  for (;;) {
    const std::int64_t left_ms = (deadline.at_us - deadline.clock.now_us()) / 1000;
    if (left_ms <= 0) return false;
    pollfd entry{.fd = socket.fd(), .events = events, .revents = 0};
    const int ready = poll(&entry, 1, static_cast<int>(left_ms));
    if (ready > 0) return true;
    if (ready < 0 && errno != EINTR) return true;  // the next call will report the error
  }
}

// The connection, or errno.
std::expected<Socket, int> connect_to(const addrinfo& address, const Deadline& deadline) {
  Socket socket(
      ::socket(address.ai_family, address.ai_socktype | SOCK_CLOEXEC | SOCK_NONBLOCK, address.ai_protocol));
  if (socket.fd() < 0) return std::unexpected(errno);
  if (connect(socket.fd(), address.ai_addr, address.ai_addrlen) == 0) return socket;
  if (errno != EINPROGRESS) return std::unexpected(errno);
  if (!wait_for(socket, POLLOUT, deadline)) return std::unexpected(ETIMEDOUT);
  int error = 0;
  socklen_t size = sizeof error;
  getsockopt(socket.fd(), SOL_SOCKET, SO_ERROR, &error, &size);
  if (error != 0) return std::unexpected(error);
  return socket;
}

Socket connect_to(const ServerUrl& url, const Deadline& deadline) {
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* found = nullptr;
  if (const int rc = getaddrinfo(url.host.c_str(), url.port.c_str(), &hints, &found); rc != 0)
    throw CommandError(fmt::format("cannot resolve {}: {}; name another server with --server",
                                   url.authority(), gai_strerror(rc)));
  const std::unique_ptr<addrinfo, decltype(&freeaddrinfo)> addresses(found, freeaddrinfo);
  int error = 0;
  for (const addrinfo* address = found; address; address = address->ai_next) {
    auto socket = connect_to(*address, deadline);
    if (socket) return std::move(*socket);
    error = socket.error();
  }
  throw CommandError(fmt::format(
      "cannot connect to {}: {}; start a server with `sluice serve`, or name another with --server",
      url.authority(), std::strerror(error)));
}

CommandError no_answer(const ServerUrl& url, std::string_view why) {
  return CommandError(
      fmt::format("no answer from {}: {}; check the server and try again", url.authority(), why));
}

void send_all(const Socket& socket, const ServerUrl& url, std::string_view bytes, const Deadline& deadline) {
  while (!bytes.empty()) {
    if (!wait_for(socket, POLLOUT, deadline)) throw no_answer(url, "timed out");
    const ssize_t sent = send(socket.fd(), bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (sent > 0)
      bytes.remove_prefix(static_cast<std::size_t>(sent));
    else if (errno == EPIPE || errno == ECONNRESET)
      return;  // a server may refuse a long body before it has read it all: read its answer
    else if (errno != EAGAIN && errno != EINTR)
      throw no_answer(url, std::strerror(errno));
  }
}

// What has arrived; empty if the server has closed. After its answer, any kind of close is fine.
std::string receive(const Socket& socket, const ServerUrl& url, const Deadline& deadline, bool answered) {
  std::string bytes(1 << 16, '\0');
  for (;;) {
    if (!wait_for(socket, POLLIN, deadline)) throw no_answer(url, "timed out");
    const ssize_t got = recv(socket.fd(), bytes.data(), bytes.size(), 0);
    if (got < 0 && (errno == EAGAIN || errno == EINTR)) continue;
    if (got < 0 && !(errno == ECONNRESET && answered)) throw no_answer(url, std::strerror(errno));
    bytes.resize(static_cast<std::size_t>(std::max<ssize_t>(got, 0)));
    return bytes;
  }
}

std::unique_ptr<net::TlsEngine> make_tls(const ServerUrl& url, const TlsSettings& settings) {
  std::string why;
  redis::Address address{.host = url.host};
  address.port = digits<std::uint16_t>(url.port).value_or(0);
  auto tls = net::TlsClientContext(settings).connect(address, why, "http/1.1");
  if (!tls) throw CommandError(why);
  return tls;
}

// Decrypts what the server sends and appends it to `plain`. Throws if we do not trust the server, or it does
// not trust us.
void open_bytes(net::TlsEngine& tls, std::string_view bytes, std::string& plain, std::string& out) {
  tls.receive(bytes, plain, out);
  if (tls.status() == net::TlsEngine::Status::kFailed)
    throw CommandError(tls.problem() + "; check --server, --ca, --client-cert and --client-key");
}

void shake_hands(net::TlsEngine& tls, const Socket& socket, const ServerUrl& url, const Deadline& deadline,
                 std::string& plain) {
  std::string out;
  tls.begin(out);
  send_all(socket, url, out, deadline);
  while (tls.status() == net::TlsEngine::Status::kHandshaking) {
    const std::string bytes = receive(socket, url, deadline, false);
    if (bytes.empty()) throw no_answer(url, "it closed the connection during the TLS handshake");
    out.clear();
    open_bytes(tls, bytes, plain, out);
    send_all(socket, url, out, deadline);
  }
}

std::string to_lower(std::string_view text) {
  std::string lower(text);
  for (char& c : lower)
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  return lower;
}

// The value of a header; names are compared ignoring case.
std::optional<std::string_view> header_of(std::string_view head, std::string_view name) {
  for (std::size_t at = head.find("\r\n"); at != head.npos; at = head.find("\r\n", at + 2)) {
    std::string_view line = head.substr(at + 2, head.find("\r\n", at + 2) - at - 2);
    const std::size_t colon = line.find(':');
    if (colon == line.npos || to_lower(line.substr(0, colon)) != name) continue;
    line.remove_prefix(colon + 1);
    line.remove_prefix(std::min(line.find_first_not_of(" \t"), line.size()));
    return line;
  }
  return std::nullopt;
}

}  // namespace

std::string exchange_bytes(const ServerUrl& url, const TlsSettings& tls_settings, std::string_view request,
                           Deadline deadline) {
  const std::unique_ptr<net::TlsEngine> tls = url.tls ? make_tls(url, tls_settings) : nullptr;
  const Socket socket = connect_to(url, deadline);
  std::string answer;
  std::string sealed;
  if (tls) {
    shake_hands(*tls, socket, url, deadline, answer);
    tls->send(request, sealed);
  }
  send_all(socket, url, tls ? sealed : request, deadline);
  while (answer.size() <= kAnswerBytesMax) {
    const std::string bytes = receive(socket, url, deadline, !answer.empty());
    if (bytes.empty()) return answer;
    if (tls)
      open_bytes(*tls, bytes, answer, sealed);  // there is nothing more to send
    else
      answer += bytes;
  }
  throw CommandError(fmt::format("the answer from {} is longer than {} bytes; ask for less", url.authority(),
                                 kAnswerBytesMax));
}

std::expected<HttpAnswer, std::string> read_http_answer(std::string_view bytes) {
  constexpr std::size_t kStatusAt = 9;  // "HTTP/1.1 200 OK"
  const std::size_t head_end = bytes.find("\r\n\r\n");
  const auto status = bytes.size() < kStatusAt + 3 ? std::nullopt : digits<int>(bytes.substr(kStatusAt, 3));
  if (head_end == bytes.npos || !bytes.starts_with("HTTP/1.") || !status)
    return std::unexpected("does not speak HTTP/1.1; is it a Sluice server?");
  const std::string_view head = bytes.substr(0, head_end);
  std::string_view body = bytes.substr(head_end + 4);
  if (header_of(head, "transfer-encoding"))
    return std::unexpected(
        "sent a chunked answer, which this client does not support; connect to the server directly");
  if (const auto length = header_of(head, "content-length")) {
    const auto size = digits<std::size_t>(*length);
    if (!size || body.size() < *size)
      return std::unexpected("closed the connection in the middle of its answer; try again");
    body = body.substr(0, *size);
  }
  return HttpAnswer{*status, std::string(body)};
}

}  // namespace sluice::cli

#pragma once

#include <netinet/in.h>

#include <cstdint>
#include <expected>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "loadgen/client/protocol.h"
#include "net/tls/tls_engine.h"

namespace sluice::loadgen {

// The host in "127.0.0.1:8080" or "[::1]:8080"; empty: there is none.
std::string host_of(const std::string& host_and_port);
// The socket address of host and port; names are resolved. The error is a sentence.
std::expected<sockaddr_storage, std::string> resolve(const std::string& host_and_port);
// Connects and disconnects, blocking. The error is a sentence that says what to do.
std::expected<void, std::string> probe(const sockaddr_storage& address, const std::string& host_and_port);

// A socket and its protocol, in a worker's epoll set. Reconnects by itself after the server has closed it.
// Not thread-safe.
class Connection {
 public:
  using MakeProtocol = std::function<std::unique_ptr<Protocol>()>;
  // Null: `why` gets a sentence that says what is missing.
  using MakeTls = std::function<std::unique_ptr<net::TlsEngine>(std::string& why)>;
  static constexpr std::int64_t kReconnectAfterUs = 100'000;

  // make_tls: empty for plain text.
  Connection(int epoll, const sockaddr_storage& address, MakeProtocol make_protocol, MakeTls make_tls);
  ~Connection();
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;

  // Starts to connect; bytes wait until it is connected. May be called again after the connection was lost.
  void open();
  bool is_open() const { return fd_ >= 0; }
  std::int64_t reopen_at_us() const { return reopen_at_us_; }

  bool start(const Call& call) { return is_open() && protocol_->start(call); }
  // Sends what is pending, as far as the socket accepts it.
  void flush();
  // Reads what is available and appends the finished calls, failed ones included. Closes a lost connection.
  void on_readable(std::int64_t now_us, std::vector<FinishedCall>& finished);
  // The intended times of the calls without an answer.
  void pending(std::vector<std::int64_t>& intended_us) const;

  // Why the first failed call, or the connection, failed.
  const std::string& first_failure() const;

 private:
  void lose(const std::string& reason, std::int64_t now_us, std::vector<FinishedCall>& finished);
  void watch_writable(bool on);
  void write_out();

  const int epoll_;
  const sockaddr_storage address_;
  const MakeProtocol make_protocol_;
  const MakeTls make_tls_;
  std::unique_ptr<Protocol> protocol_;
  std::unique_ptr<net::TlsEngine> tls_;
  int fd_ = -1;
  bool watching_writable_ = false;
  std::int64_t reopen_at_us_ = 0;
  std::string out_;
  std::size_t out_sent_ = 0;
  std::string failure_;
};

}  // namespace sluice::loadgen

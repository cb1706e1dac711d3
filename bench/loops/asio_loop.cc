// Boost.Asio's loop, with a session that does nothing but answer. One thread. Asio can wait for bytes in two
// ways:
//
//   asio_loop 9090          async_read_some: tries to read, and waits if there is nothing
//   asio_loop 9090 wait     async_wait, then reads: arms epoll again for every wait
#include <array>
#include <boost/asio.hpp>
#include <cstdlib>
#include <iostream>
#include <memory>
#include <string>
#include <string_view>

#include "constant_session.h"

namespace {

namespace asio = boost::asio;
using asio::ip::tcp;
using boost::system::error_code;

constexpr std::size_t kReadBytes = 64u << 10;

class Connection : public std::enable_shared_from_this<Connection> {
 public:
  Connection(tcp::socket socket, bool waits) : socket_(std::move(socket)), waits_(waits) {
    socket_.set_option(tcp::no_delay(true));
    socket_.non_blocking(true);
  }

  void read() {
    if (waits_) {
      socket_.async_wait(tcp::socket::wait_read, [self = shared_from_this()](error_code error) {
        if (error) return;
        const std::size_t size = self->socket_.read_some(asio::buffer(self->buffer_), error);
        if (!error) self->on_bytes(size);
      });
    } else {
      socket_.async_read_some(asio::buffer(buffer_),
                              [self = shared_from_this()](error_code error, std::size_t size) {
                                if (!error) self->on_bytes(size);
                              });
    }
  }

 private:
  void on_bytes(std::size_t size) {
    unsent_.clear();
    if (!session_.receive(std::span(buffer_.data(), size), unsent_)) return;
    error_code error;
    // Nearly always all of it fits; an asynchronous write would cost one more turn of the loop.
    const std::size_t sent = unsent_.empty() ? 0 : socket_.write_some(asio::buffer(unsent_), error);
    if (sent == unsent_.size()) return read();
    if (error && error != asio::error::would_block) return;
    unsent_.erase(0, sent);
    asio::async_write(socket_, asio::buffer(unsent_),
                      [self = shared_from_this()](error_code failed, std::size_t) {
                        if (!failed) self->read();
                      });
  }

  tcp::socket socket_;
  const bool waits_;
  bench::ConstantSession session_;
  std::array<unsigned char, kReadBytes> buffer_;
  std::string unsent_;
};

void accept(tcp::acceptor& acceptor, bool waits) {
  acceptor.async_accept([&acceptor, waits](error_code error, tcp::socket socket) {
    if (!error) std::make_shared<Connection>(std::move(socket), waits)->read();
    accept(acceptor, waits);
  });
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2) {
    std::cerr << "usage: asio_loop PORT [wait]\n";
    return 2;
  }
  asio::io_context context(1);  // one thread: Asio may leave out its locks
  const auto port = static_cast<std::uint16_t>(std::atoi(argv[1]));
  tcp::acceptor acceptor(context, tcp::endpoint(asio::ip::address_v4::loopback(), port));
  accept(acceptor, argc > 2 && std::string_view(argv[2]) == "wait");
  context.run();
}

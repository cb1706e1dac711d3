// A Boost.Asio program: an echo server whose lines are limited by the address of the client. Checks are
// awaited in Asio's coroutines, so that the one thread of the server never waits for the limiter.
//
//   asio_server PORT [REDIS_URL]      with a URL, all processes share the limits
//
// An allowed line comes back; for another the client reads "slow down" and when to come back.
#include <sluice/open.h>

#include <boost/asio.hpp>
#include <cstdlib>
#include <iostream>

namespace asio = boost::asio;
using asio::ip::tcp;

// A check as an asynchronous operation of Asio. The limiter calls back on a thread of its own; the coroutine
// goes on in its own executor.
asio::awaitable<sluice::Answer> check(sluice::Limiter& limiter, const sluice::Request& request) {
  const auto begin = [&limiter, &request](auto handler) {
    auto shared = std::make_shared<decltype(handler)>(std::move(handler));
    limiter.check_async(request, [shared](const sluice::Answer& answer) {
      const auto executor = asio::get_associated_executor(*shared);
      asio::post(executor, [shared, answer] { std::move (*shared)(answer); });
    });
  };
  co_return co_await asio::async_initiate<const asio::use_awaitable_t<>, void(sluice::Answer)>(
      begin, asio::use_awaitable);
}

asio::awaitable<void> serve(tcp::socket socket, sluice::Limiter& limiter) {
  const std::string address = socket.remote_endpoint().address().to_string();
  std::string line;
  for (;;) {
    const std::size_t size =
        co_await asio::async_read_until(socket, asio::dynamic_buffer(line, 4096), '\n', asio::use_awaitable);
    const sluice::Request request{.key = address, .resource = "/reports"};
    const sluice::Answer answer = co_await check(limiter, request);
    const std::string reply = answer.allowed
                                  ? line.substr(0, size)
                                  : "slow down: " + std::to_string(answer.retry_after.count()) + " ms\n";
    line.erase(0, size);
    co_await asio::async_write(socket, asio::buffer(reply), asio::use_awaitable);
  }
}

asio::awaitable<void> accept(tcp::acceptor acceptor, sluice::Limiter& limiter) {
  for (;;)
    asio::co_spawn(acceptor.get_executor(),
                   serve(co_await acceptor.async_accept(asio::use_awaitable), limiter),
                   [](std::exception_ptr) { /* the client is gone */ });
}

int main(int count, char** words) {
  if (count < 2) {
    std::cerr << "usage: asio_server PORT [REDIS_URL]\n";
    return 2;
  }
  const sluice::PolicySource policies{.file = "policies.yaml"};
  const auto opened = count > 2 ? sluice::open_redis({.policies = policies, .url = words[2]})
                                : sluice::open_memory({.policies = policies});
  if (!opened) {
    std::cerr << opened.error << '\n';
    return 1;
  }
  asio::io_context context(1);
  asio::signal_set signals(context, SIGINT, SIGTERM);
  signals.async_wait([&](auto, auto) { context.stop(); });
  const tcp::endpoint address(asio::ip::address_v4::loopback(),
                              static_cast<unsigned short>(std::atoi(words[1])));
  asio::co_spawn(context, accept(tcp::acceptor(context, address), *opened.limiter), asio::detached);
  std::cout << "listening" << std::endl;
  context.run();
  opened.limiter->close();  // before the context goes, to which answers are posted
}

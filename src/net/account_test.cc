// What connections hold is counted, and nothing remains when everything is answered or closed, in whatever
// way.
#include <gtest/gtest.h>

#include <random>

#include "base/testing/seed.h"
#include "net/testing/account_storm.h"

namespace sluice::net {
namespace {

using Client = Http2TestClient;

TEST(SessionAccounts, random_lives_of_connections_leave_nothing) {
  const std::uint64_t seed = test_seed();
  SCOPED_TRACE("SLUICE_SEED=" + std::to_string(seed));
  ManualClock clock(784'111'777'000'000);
  TestApplication application;
  SessionContext context(application, clock);
  AccountStorm::Words words;
  const std::string body(3'000, 'x');
  words.http1 = {
      "GET /a HTTP/1.1\r\nHost: x\r\n\r\n",
      "GET /later HTTP/1.1\r\nHost: x\r\n\r\n",
      "GET /big HTTP/1.1\r\nHost: x\r\n\r\n",
      "HEAD /big HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n",
      "POST /b HTTP/1.1\r\nHost: x\r\nContent-Length: 3000\r\n\r\n" + body,
      "POST /later HTTP/1.1\r\nHost: x\r\nContent-Length: 3000\r\n\r\n" + body,
      "POST /c HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\nbb8\r\n" + body + "\r\n0\r\n\r\n"};
  for (const char* path : {"/a", "/later", "/big"})
    for (const char* method : {"GET", "POST", "HEAD"})
      words.http2.emplace_back(Client::http_headers(method, path), method == std::string("POST") ? body : "");
  for (const char* path : {"Unary", "Later", "Fail", "Stream", "Many", "Unknown"})
    for (const std::string& message : {std::string("3"), body})
      words.http2.emplace_back(Client::grpc_headers(std::string("/test.Echo/") + path),
                               path == std::string("Many") ? Client::framed("3") : Client::framed(message));
  words.redis = {"a 1\r\n", "later\r\n", "later " + body + "\r\n",
                 "*2\r\n$1\r\nb\r\n$3000\r\n" + body + "\r\n", "quit 1\r\n"};
  words.answer = [&](std::uint64_t random) {
    HttpResponse response;
    response.body.assign(random % 50'000, 'z');
    for (const auto& later : std::exchange(application.http_later, {})) later(HttpResponse(response));
    for (const auto& later : std::exchange(application.grpc_later, {})) later({{}, response.body});
    for (const auto& later : std::exchange(application.redis_later, {})) later("+late\r\n");
  };
  AccountStorm storm(context, clock, words, seed);
  storm.rage(5'000);
  storm.expect_nothing_held();
  EXPECT_EQ(application.open_streams, 0);
}

}  // namespace
}  // namespace sluice::net

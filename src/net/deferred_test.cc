#include "net/deferred.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "net/http1/http1_session.h"
#include "net/testing/http2_client.h"

namespace sluice::net {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;
using testing::StartsWith;

class Patient final : public DeadlineWaiter {};

TEST(DeferredAnswers, when_too_many_wait_further_requests_are_refused_before_they_are_handled) {
  ManualClock clock(784'111'777'000'000);
  TestApplication application;
  SessionContext context(application, clock);
  Patient patient;
  std::vector<DeferredAnswers::Entry*> entries;
  while (!context.deferred.full()) entries.push_back(context.deferred.open(patient, 0));
  EXPECT_EQ(entries.size(), kDeferredAnswersMax);

  Http2TestClient client(context);
  const std::int32_t http = client.request(Http2TestClient::http_headers("GET", "/later"), "");
  const std::int32_t unary = client.call("/test.Echo/Later", "x");
  const std::int32_t streaming = client.call("/test.Echo/Stream", "x", {{"grpc-timeout", "5S"}});
  client.run();
  EXPECT_EQ(client.answers[http].status(), 503);
  EXPECT_EQ(client.answers[unary].grpc_status(), "14");
  EXPECT_EQ(client.answers[streaming].grpc_status(), "14");

  Http1Session session(context, client, kTestPeer);
  std::string request = "GET /later HTTP/1.1\r\nHost: x\r\n\r\n", out;
  session.receive({request.data(), request.size()}, out);
  EXPECT_THAT(out, StartsWith("HTTP/1.1 503"));
  EXPECT_THAT(out, HasSubstr("Too many requests are waiting"));
  EXPECT_FALSE(session.finished());
  EXPECT_THAT(application.requests, IsEmpty());

  for (DeferredAnswers::Entry* entry : entries) context.deferred.close(entry);
  client.call("/test.Echo/Later", "x");
  client.run();
  EXPECT_EQ(application.grpc_later.size(), 1u);
}

}  // namespace
}  // namespace sluice::net

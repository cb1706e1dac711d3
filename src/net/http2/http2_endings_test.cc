#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "net/testing/http2_session_fixture.h"

namespace sluice::net {
namespace {

using testing::ElementsAre;

TEST(Http2FlowControl, a_tiny_window_gets_the_whole_answer_bit_by_bit) {
  ManualClock clock(784'111'777'000'000);
  TestApplication application;
  SessionContext context(application, clock);
  Http2TestClient client(context, 10);
  const std::int32_t id = client.call("/test.Echo/Unary", std::string(100, 'x'));
  client.run();
  int rounds = 0;
  while (!client.answers[id].closed && ++rounds < 100) {
    EXPECT_EQ(client.answers[id].body.size(),
              std::min<std::size_t>(10u * static_cast<unsigned>(rounds), 105));
    nghttp2_submit_window_update(client.client, NGHTTP2_FLAG_NONE, id, 10);
    client.run();
  }
  EXPECT_THAT(client.answers[id].messages(), ElementsAre(std::string(100, 'x')));
  EXPECT_EQ(client.answers[id].grpc_status(), "0");
}

TEST_F(Http2SessionTest, an_answer_that_nobody_reads_is_dropped_in_the_end) {
  const std::int32_t id = client_.request(Http2TestClient::http_headers("GET", "/big"), "");
  client_.run();
  EXPECT_EQ(client_.answers[id].body.size(), 65'535u);
  tick_after(context_.timeouts.unread_answer_us - 1);
  EXPECT_FALSE(client_.answers[id].closed);
  tick_after(1);
  EXPECT_TRUE(client_.answers[id].closed);
  EXPECT_TRUE(client_.session.idle());
}

TEST_F(Http2SessionTest, a_request_that_never_ends_is_ended) {
  const std::int32_t http = client_.request(Http2TestClient::http_headers("POST", "/a"), "x", true);
  const std::int32_t grpc = client_.call("/test.Echo/Unary", "x", {}, true);
  const std::int32_t stream = client_.call("/test.Echo/Stream", "x", {}, true);
  const std::int32_t silent = client_.request(Http2TestClient::grpc_headers("/test.Echo/Stream"), "", true);
  client_.run();
  tick_after(context_.timeouts.request_us);
  EXPECT_EQ(client_.answers[http].status(), 408);
  EXPECT_EQ(client_.answers[grpc].grpc_status(), "1");
  EXPECT_FALSE(client_.answers[stream].closed) << "a stream may stay open as long as it likes";
  EXPECT_EQ(client_.answers[silent].grpc_status(), "1") << "but it has to begin";
}

TEST_F(Http2SessionTest, an_idle_connection_ends_with_goaway) {
  call("/test.Echo/Unary", "x");
  tick_after(context_.timeouts.idle_us - 1);
  EXPECT_FALSE(client_.session.finished());
  tick_after(1);
  EXPECT_TRUE(client_.session.finished());
  EXPECT_EQ(client_.goaway_code, NGHTTP2_NO_ERROR);
}

TEST_F(Http2SessionTest, a_drained_session_finishes_what_is_under_way) {
  const auto& answer = call("/test.Echo/Later", "x");
  std::string out;
  client_.session.drain(out);
  client_.deliver(out);
  EXPECT_EQ(client_.goaways, 1);
  tick_after(200'000);
  EXPECT_EQ(client_.goaways, 2);
  EXPECT_FALSE(client_.session.finished());
  application_.grpc_later.at(0)({{}, "done"});
  client_.run();
  EXPECT_EQ(answer.grpc_status(), "0");
  EXPECT_TRUE(client_.session.finished());
}

TEST_F(Http2SessionTest, a_drain_waits_for_requests_but_not_for_endless_streams) {
  const std::int32_t stream = client_.call("/test.Echo/Stream", "one", {}, true);
  const std::int32_t refused =
      client_.request(Http2TestClient::http_headers("POST", "/a"), std::string(1'100'000, 'x'), true);
  const std::int32_t request = client_.request(Http2TestClient::http_headers("POST", "/a"), "half", true);
  client_.run();
  std::string out;
  client_.session.drain(out);
  client_.deliver(out);
  client_.upload(stream, Http2TestClient::framed("last"), false);
  client_.run();
  tick_after(50'000);
  EXPECT_FALSE(client_.answers[stream].closed) << "the application may still have something to say";
  tick_after(100'000);
  EXPECT_THAT(client_.answers[stream].messages(), ElementsAre("one", "one", "last", "last"));
  EXPECT_EQ(client_.answers[stream].grpc_status(), "14");
  EXPECT_TRUE(client_.answers[stream].closed);
  EXPECT_TRUE(client_.answers[refused].closed);
  EXPECT_FALSE(client_.session.finished());
  client_.upload(request, " and half", true);
  client_.run();
  EXPECT_EQ(client_.answers[request].body, "half and half");
  EXPECT_TRUE(client_.session.finished());
}

TEST_F(Http2SessionTest, a_frame_of_an_unknown_type_is_ignored) {
  client_.run();
  client_.inject(Http2TestClient::frame(0x2a, 0xff, 0, std::string(10'000, 'x')));
  EXPECT_EQ(call("/test.Echo/Unary", "x").grpc_status(), "0");
}

TEST_F(Http2SessionTest, pings_are_answered) {
  nghttp2_submit_ping(client_.client, NGHTTP2_FLAG_NONE, nullptr);
  client_.run();
  EXPECT_EQ(client_.pings_answered, 1);
}

}  // namespace
}  // namespace sluice::net

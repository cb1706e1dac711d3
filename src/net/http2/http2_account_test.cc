// What an HTTP/2 connection holds is counted, and nothing remains when its streams have ended, in whatever
// way.
#include <gmock/gmock.h>

#include "net/testing/http2_session_fixture.h"

namespace sluice::net {
namespace {

class Http2AccountTest : public Http2SessionTest {
 protected:
  std::size_t held() const { return client_.session.held_bytes(); }
  std::int32_t get_big() {
    const std::int32_t id = client_.request(Http2TestClient::http_headers("GET", "/big"), "");
    client_.run();
    return id;
  }
  void cancel(std::int32_t id) {
    nghttp2_submit_rst_stream(client_.client, NGHTTP2_FLAG_NONE, id, NGHTTP2_CANCEL);
    client_.run();
    take_all();
  }
  // Reads what has arrived, so that the connection's window is open again.
  void take_all() {
    std::size_t bytes = 0;
    for (const auto& [id, answer] : client_.answers) bytes += answer.body.size();
    nghttp2_session_consume_connection(client_.client, bytes - taken_);
    taken_ = bytes;
    client_.run();
  }

  std::size_t taken_ = 0;
};

TEST_F(Http2AccountTest, an_answer_that_nobody_takes_is_held) {
  get_big();
  EXPECT_GT(held(), TestApplication::kBigBytes - 65'535);
}

TEST_F(Http2AccountTest, a_cancelled_answer_is_given_back) {
  cancel(get_big());
  EXPECT_EQ(held(), 0u);
}

// Answers that are gone do not count towards the bound on pending answers.
TEST_F(Http2AccountTest, cancelled_answers_are_not_held_against_the_next) {
  for (int i = 0; i < 20; ++i) cancel(get_big());
  EXPECT_EQ(client_.goaways, 0);
  EXPECT_EQ(call("/test.Echo/Unary", "x").grpc_status(), "0");
  EXPECT_EQ(held(), 0u);
}

TEST_F(Http2AccountTest, heads_bodies_and_waiting_requests_are_held_until_they_are_answered) {
  const std::size_t idle = held();
  const std::int32_t open = client_.call("/test.Echo/Unary", std::string(50'000, 'x'), {}, true);
  client_.run();
  EXPECT_GT(held(), idle + 50'000);
  client_.upload(open, "", true);
  client_.run();
  EXPECT_GT(client_.answers[open].body.size(), 0u);
  client_.call("/test.Echo/Later", std::string(40'000, 'x'));
  client_.run();
  EXPECT_GT(held(), 40'000u);
  application_.grpc_later.back()({{}, ""});
  nghttp2_session_consume_connection(client_.client, 60'000);
  nghttp2_session_consume(client_.client, open, 50'005);
  client_.run();
  EXPECT_EQ(held(), 0u);
}

TEST_F(Http2AccountTest, shedding_gives_everything_back_and_says_why) {
  get_big();
  client_.call("/test.Echo/Later", "x");
  client_.call("/test.Echo/Stream", "x", {}, true);
  client_.run();
  std::string out;
  client_.session.shed(out);
  client_.deliver(out);
  EXPECT_EQ(held(), 0u);
  EXPECT_EQ(client_.goaway_code, static_cast<std::uint32_t>(NGHTTP2_ENHANCE_YOUR_CALM));
  EXPECT_TRUE(client_.session.finished());
  EXPECT_EQ(application_.open_streams, 0);
  EXPECT_EQ(context_.deferred.open_count(), 0u);
  application_.grpc_later.back()({{}, "too late, and harmless"});
}

}  // namespace
}  // namespace sluice::net

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

// Its memory is freed as a whole. Many answers of which a byte is left would be much that nobody counts.
TEST_F(Http2AccountTest, an_answer_is_held_until_its_last_byte_is_taken) {
  constexpr auto kAllButOne = static_cast<std::uint32_t>(TestApplication::kBigBytes - 1);
  constexpr std::size_t kAnswers = 20;
  Http2TestClient reader(context_, kAllButOne);
  nghttp2_session_set_local_window_size(reader.client, NGHTTP2_FLAG_NONE, 0, 64 << 20);
  std::vector<std::int32_t> ids;
  for (std::size_t i = 0; i < kAnswers; ++i) {
    ids.push_back(reader.request(Http2TestClient::http_headers("GET", "/big"), ""));
    reader.run();
    ASSERT_EQ(reader.answers[ids.back()].body.size(), kAllButOne);
  }
  EXPECT_GE(reader.session.held_bytes(), kAnswers * TestApplication::kBigBytes);
  for (const std::int32_t id : ids) nghttp2_session_consume_stream(reader.client, id, kAllButOne);
  reader.run();
  for (const std::int32_t id : ids) EXPECT_TRUE(reader.answers[id].closed) << id;
  EXPECT_EQ(reader.session.held_bytes(), 0u);
}

TEST_F(Http2AccountTest, a_call_that_lasts_does_not_keep_the_memory_of_what_was_read) {
  const std::int32_t id = client_.call("/test.Echo/Stream", std::string(15'000, 'x'), {}, true);
  client_.run();
  EXPECT_EQ(client_.answers[id].messages().size(), 2u);
  EXPECT_LT(held(), 15'000u);
  cancel(id);
  EXPECT_EQ(held(), 0u);
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

// Many or large answers that a client has not read yet: whoever reads gets them all, and requests wait
// meanwhile.
#include <gmock/gmock.h>

#include "net/testing/http2_session_fixture.h"

namespace sluice::net {
namespace {

class Http2BacklogTest : public Http2SessionTest {
 protected:
  static constexpr std::size_t kBatchBytes = 250'000;  // the answer to a batch of 1000 checks

  std::vector<std::int32_t> get(const std::string& path, int count) {
    std::vector<std::int32_t> ids;
    for (int i = 0; i < count; ++i)
      ids.push_back(client_.request(Http2TestClient::http_headers("GET", path), ""));
    client_.run();
    return ids;
  }
  // Reads until nothing more comes.
  void read_all() {
    for (std::size_t before = ~std::size_t{0}; before != read_bytes();) {
      before = read_bytes();
      for (const auto& [id, answer] : client_.answers)
        nghttp2_session_consume_stream(client_.client, id, answer.body.size() - taken_[id]);
      for (const auto& [id, answer] : client_.answers) {
        nghttp2_session_consume_connection(client_.client, answer.body.size() - taken_[id]);
        taken_[id] = answer.body.size();
      }
      client_.run();
    }
  }
  std::size_t read_bytes() const {
    std::size_t bytes = 0;
    for (const auto& [id, answer] : client_.answers) bytes += answer.body.size();
    return bytes;
  }
  std::size_t held() const { return client_.session.held_bytes(); }

  std::map<std::int32_t, std::size_t> taken_;
};

TEST_F(Http2BacklogTest, answers_that_come_late_and_all_at_once_are_read) {
  const auto ids = get("/later", 40);
  ASSERT_EQ(application_.http_later.size(), 40u);
  for (const auto& later : application_.http_later) {
    HttpResponse response;
    response.body.assign(kBatchBytes, 'b');
    later(std::move(response));
  }
  client_.run();
  EXPECT_GT(held(), kConnectionOutputBytesMax);
  read_all();
  EXPECT_EQ(client_.goaways, 0);
  for (const std::int32_t id : ids) EXPECT_EQ(client_.answers[id].body.size(), kBatchBytes) << id;
  EXPECT_EQ(held(), 0u);
}

TEST_F(Http2BacklogTest, further_requests_wait_until_answers_are_read) {
  const auto ids = get("/big", 20);
  EXPECT_LE(application_.requests.size(), 6u);
  EXPECT_LE(held(), 6 * TestApplication::kBigBytes);
  read_all();
  EXPECT_EQ(client_.goaways, 0);
  EXPECT_EQ(application_.requests.size(), 20u);
  for (const std::int32_t id : ids)
    EXPECT_EQ(client_.answers[id].body.size(), TestApplication::kBigBytes) << id;
  EXPECT_EQ(held(), 0u);
}

TEST_F(Http2BacklogTest, large_requests_wait_for_the_answers_of_others) {
  for (int i = 0; i < 8; ++i) client_.call("/test.Echo/Later", std::string(1'000'000, 'x'));
  client_.run();
  EXPECT_EQ(application_.grpc_later.size(), 5u);
  for (std::size_t i = 0; i < application_.grpc_later.size(); ++i) {
    const GrpcReply::Later later = application_.grpc_later[i];
    later({{}, "done"});
    client_.run();
  }
  EXPECT_EQ(application_.grpc_later.size(), 8u);
  for (const auto& [id, answer] : client_.answers) EXPECT_EQ(answer.grpc_status(), "0") << id;
  EXPECT_EQ(held(), 0u);
}

TEST_F(Http2BacklogTest, a_request_that_is_cancelled_while_it_waits_is_not_handled) {
  const auto ids = get("/big", 10);
  const std::size_t handled = application_.requests.size();
  ASSERT_LT(handled, 10u);
  nghttp2_submit_rst_stream(client_.client, NGHTTP2_FLAG_NONE, ids.back(), NGHTTP2_CANCEL);
  client_.run();
  read_all();
  EXPECT_EQ(application_.requests.size(), 9u);
  EXPECT_EQ(held(), 0u);
}

TEST_F(Http2BacklogTest, answers_that_nobody_reads_make_room_in_the_end) {
  get("/big", 10);
  const std::size_t handled = application_.requests.size();
  tick_after(context_.timeouts.unread_answer_us);
  EXPECT_GT(application_.requests.size(), handled);
  EXPECT_EQ(client_.goaways, 0);
}

TEST_F(Http2BacklogTest, streaming_calls_are_refused_meanwhile) {
  const std::int32_t open = client_.call("/test.Echo/Stream", "before", {}, true);
  get("/big", 6);
  EXPECT_EQ(call("/test.Echo/Stream", "x").grpc_status(), "8");
  client_.upload(open, Http2TestClient::framed("still there"), true);
  client_.run();
  read_all();
  EXPECT_EQ(call("/test.Echo/Stream", "x").grpc_status(), "0");
}

}  // namespace
}  // namespace sluice::net

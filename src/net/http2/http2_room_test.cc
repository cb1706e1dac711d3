// Streaming calls whose answer is longer than the reader's window: messages are not made before the reader
// can take them.
#include <gmock/gmock.h>

#include "base/limits/stream_limits.h"
#include "net/testing/http2_session_fixture.h"

namespace sluice::net {
namespace {

class Http2RoomTest : public Http2SessionTest {
 protected:
  static constexpr int kMessages = 2000;  // 2 MB, far more than may be buffered
  // Messages that fit into a client's window, and those that wait for it.
  static constexpr int kMadeAtOnceMax =
      static_cast<int>((65'535 + 2 * kStreamOutputBytesWanted) / TestApplication::kManyBytes);

  std::int32_t ask_for_many() {
    const std::int32_t id = client_.call("/test.Echo/Many", std::to_string(kMessages));
    client_.run();
    return id;
  }
  // Reads what has arrived, so that the server may send as much again. Returns false if there was nothing.
  bool take(std::int32_t id) {
    const std::size_t fresh = client_.answers[id].body.size() - taken_;
    taken_ += fresh;
    nghttp2_session_consume(client_.client, id, fresh);
    client_.run();
    return fresh > 0;
  }

  std::size_t taken_ = 0;
};

TEST_F(Http2RoomTest, messages_are_made_as_the_reader_takes_them) {
  const std::int32_t id = ask_for_many();
  int before = 0;
  do {
    EXPECT_LE(application_.many_sent - before, kMadeAtOnceMax);
    before = application_.many_sent;
  } while (take(id));
  const auto messages = client_.answers[id].messages();
  ASSERT_EQ(messages.size(), static_cast<std::size_t>(kMessages));
  for (int i = 0; i < kMessages; ++i)
    EXPECT_TRUE(messages[static_cast<std::size_t>(i)].starts_with(std::to_string(i) + '.')) << i;
  EXPECT_EQ(client_.answers[id].grpc_status(), "0");
  EXPECT_TRUE(client_.answers[id].closed);
}

TEST_F(Http2RoomTest, whoever_reads_quickly_may_say_so_often) {
  Http2TestClient reader(context_, 8192);  // sends at least 2500 window updates
  const std::int32_t id = reader.call("/test.Echo/Many", "20000");
  reader.run();
  for (std::size_t taken = 0; taken < reader.answers[id].body.size(); reader.run()) {
    const std::size_t fresh = reader.answers[id].body.size() - taken;
    taken += fresh;
    nghttp2_session_consume(reader.client, id, fresh);
  }
  EXPECT_EQ(reader.goaways, 0);
  EXPECT_EQ(reader.answers[id].messages().size(), 20'000u);
  EXPECT_EQ(reader.answers[id].grpc_status(), "0");
}

TEST_F(Http2RoomTest, but_not_byte_by_byte) {
  Http2TestClient reader(context_, 1);
  const std::int32_t id = reader.call("/test.Echo/Many", "2000");
  reader.run();
  const std::string one_byte_more = Http2TestClient::frame(
      NGHTTP2_WINDOW_UPDATE, 0, static_cast<std::uint32_t>(id), std::string_view("\0\0\0\1", 4));
  for (int i = 0; i < 5000 && reader.goaways == 0; ++i) reader.inject(one_byte_more);
  EXPECT_EQ(reader.goaway_code, static_cast<std::uint32_t>(NGHTTP2_ENHANCE_YOUR_CALM));
}

TEST_F(Http2RoomTest, nothing_is_made_for_a_reader_who_has_gone) {
  const std::int32_t id = ask_for_many();
  const int made = application_.many_sent;
  nghttp2_submit_rst_stream(client_.client, NGHTTP2_FLAG_NONE, id, NGHTTP2_CANCEL);
  client_.run();
  EXPECT_LE(made, kMadeAtOnceMax);
  EXPECT_EQ(application_.many_sent, made);
  nghttp2_session_consume_connection(client_.client, client_.answers[id].body.size());
  EXPECT_EQ(call("/test.Echo/Unary", "x").grpc_status(), "0") << "others are served";
}

TEST_F(Http2RoomTest, a_reader_who_takes_nothing_is_not_waited_for) {
  const std::int32_t id = ask_for_many();
  tick_after(context_.timeouts.unread_answer_us - 1'000'000);
  EXPECT_FALSE(client_.answers[id].closed);
  tick_after(2'000'000);
  EXPECT_TRUE(client_.answers[id].closed);
  EXPECT_EQ(client_.answers[id].error_code, static_cast<std::uint32_t>(NGHTTP2_CANCEL));
}

// The window is used up exactly at the end of the last message that was made.
TEST_F(Http2RoomTest, nor_one_who_stops_at_the_end_of_a_message) {
  constexpr auto kFramed = static_cast<std::uint32_t>(TestApplication::kManyBytes + kGrpcPrefixBytes);
  constexpr auto kPage =
      static_cast<std::uint32_t>((kStreamOutputBytesWanted + kFramed - 1) / kFramed * kFramed);
  Http2TestClient reader(context_, kPage);
  const std::int32_t id = reader.call("/test.Echo/Many", "2000");
  reader.run();
  ASSERT_EQ(reader.answers[id].body.size(), kPage);
  ASSERT_EQ(application_.many_sent, static_cast<int>(kPage / kFramed));
  clock_.advance(context_.timeouts.unread_answer_us + 1'000'000);
  context_.refresh_time();
  std::string out;
  reader.session.tick(out);
  reader.deliver(out);
  EXPECT_TRUE(reader.answers[id].closed);
}

TEST_F(Http2RoomTest, the_deadline_ends_it_in_the_middle) {
  const std::int32_t id =
      client_.call("/test.Echo/Many", std::to_string(kMessages), {{"grpc-timeout", "1S"}});
  client_.run();
  clock_.advance(2'000'000);
  context_.refresh_time();
  context_.deferred.expire_until(context_.now_us);
  while (take(id)) {
  }
  EXPECT_EQ(client_.answers[id].grpc_status(), "4");
  EXPECT_LE(application_.many_sent, kMadeAtOnceMax);
}

}  // namespace
}  // namespace sluice::net

// Frames on closed streams and invalid priorities, according to RFC 9113 and RFC 7540.
#include "net/http2/http2_frame_scan.h"

#include <gtest/gtest.h>

#include "net/testing/http2_session_fixture.h"

namespace sluice::net {
namespace {

using Error = Http2FrameScan::Error;

const std::string kPreface = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";

class Http2FrameScanTest : public Http2SessionTest {
 protected:
  static std::string data(std::uint32_t stream_id, std::string_view payload = "late") {
    return Http2TestClient::frame(NGHTTP2_DATA, 0, stream_id, payload);
  }
  static std::string reset(std::uint32_t stream_id) {
    return Http2TestClient::frame(NGHTTP2_RST_STREAM, 0, stream_id, std::string("\0\0\0\x08", 4));
  }
  // HEADERS of GET / in HPACK's static table, with END_STREAM.
  static std::string get(std::uint32_t stream_id) {
    constexpr std::uint8_t kFlags = NGHTTP2_FLAG_END_STREAM | NGHTTP2_FLAG_END_HEADERS;
    return Http2TestClient::frame(NGHTTP2_HEADERS, kFlags, stream_id, "\x82\x86\x84");
  }
  static std::string priority(std::uint32_t stream_id, std::uint8_t depends_on) {
    return Http2TestClient::frame(NGHTTP2_PRIORITY, 0, stream_id,
                                  std::string({'\0', '\0', '\0', static_cast<char>(depends_on), '\0'}));
  }
  void expect_end(std::uint32_t error_code) {
    EXPECT_EQ(client_.goaway_code, error_code);
    EXPECT_TRUE(client_.session.finished());
  }
  void expect_life() {
    EXPECT_EQ(client_.goaways, 0);
    EXPECT_EQ(call("/test.Echo/Unary", "hello").grpc_status(), "0");
  }
};

TEST_F(Http2FrameScanTest, data_after_the_end_of_a_request_ends_the_connection) {
  call("/test.Echo/Unary", "hello");
  client_.inject(data(1));
  expect_end(NGHTTP2_STREAM_CLOSED);
}

TEST_F(Http2FrameScanTest, headers_after_the_end_of_a_request_end_the_connection) {
  call("/test.Echo/Unary", "hello");
  client_.inject(get(1));
  expect_end(NGHTTP2_STREAM_CLOSED);
}

TEST_F(Http2FrameScanTest, data_after_the_peers_own_reset_ends_the_connection) {
  const std::int32_t id = client_.call("/test.Echo/Unary", "hello", {}, true);
  client_.run();
  client_.inject(reset(static_cast<std::uint32_t>(id)) + data(static_cast<std::uint32_t>(id)));
  expect_end(NGHTTP2_STREAM_CLOSED);
}

TEST_F(Http2FrameScanTest, data_after_a_reset_of_ours_was_on_its_way) {
  const std::int32_t id = client_.call("/test.Unknown/Method", "hello", {}, true);
  client_.run();
  ASSERT_EQ(client_.answers[id].grpc_status(), "12");
  client_.inject(data(static_cast<std::uint32_t>(id)));
  expect_life();
}

TEST_F(Http2FrameScanTest, a_stream_that_was_left_out_cannot_be_opened_later) {
  client_.run();
  client_.inject(get(5) + get(9));
  EXPECT_EQ(client_.goaways, 0);
  client_.inject(get(7));
  expect_end(NGHTTP2_PROTOCOL_ERROR);
}

TEST_F(Http2FrameScanTest, a_priority_of_no_stream_or_for_itself_ends_the_connection) {
  for (const std::uint32_t stream_id : {0u, 3u}) {
    Http2TestClient client(context_);
    client.run();
    client.inject(priority(stream_id, 3));
    EXPECT_EQ(client.goaway_code, NGHTTP2_PROTOCOL_ERROR);
    EXPECT_TRUE(client.session.finished());
  }
}

TEST_F(Http2FrameScanTest, other_priorities_are_ignored) {
  client_.run();
  client_.inject(priority(3, 5) + priority(5, 3));
  expect_life();
}

TEST_F(Http2FrameScanTest, only_the_last_streams_are_remembered) {
  Http2FrameScan scan;
  scan.scan(kPreface);
  for (std::uint32_t id = 1; id < 1'000; id += 2) EXPECT_EQ(scan.scan(get(id)), Error::kNone);
  EXPECT_EQ(scan.scan(data(999)), Error::kStreamClosed);
  EXPECT_EQ(scan.scan(data(999 - 2 * 15)), Error::kStreamClosed);
  EXPECT_EQ(scan.scan(data(1)), Error::kNone) << "forgotten";
  EXPECT_EQ(scan.scan(get(1'001)), Error::kNone);
}

TEST_F(Http2FrameScanTest, trailers_end_a_stream) {
  Http2FrameScan scan;
  scan.scan(kPreface);
  const std::string head =
      Http2TestClient::frame(NGHTTP2_HEADERS, NGHTTP2_FLAG_END_HEADERS, 1, "\x82\x86\x84");
  EXPECT_EQ(scan.scan(head + data(1) + data(1) + get(1)), Error::kNone);
  EXPECT_EQ(scan.scan(data(1)), Error::kStreamClosed);
}

// The same error is found wherever the bytes are split, and none in the content of other frames.
TEST_F(Http2FrameScanTest, it_does_not_matter_where_bytes_are_cut) {
  const std::string harmless = kPreface + data(1, priority(7, 7)) + data(1, "") + priority(7, 9) +
                               Http2TestClient::frame(NGHTTP2_PRIORITY, 0, 7, std::string("\0\0\0\x07", 4));
  const std::string bytes = harmless + priority(7, 7) + data(1);
  const std::size_t known_at = harmless.size() + priority(7, 7).size() - 1;  // the weight may come later
  for (std::size_t step = 1; step <= bytes.size(); ++step) {
    Http2FrameScan scan;
    for (std::size_t at = 0; at < bytes.size(); at += step) {
      const bool is_here = at < known_at && known_at <= at + step;
      EXPECT_EQ(scan.scan(std::string_view(bytes).substr(at, step)),
                is_here ? Error::kProtocol : Error::kNone)
          << step << " at " << at;
    }
  }
}

}  // namespace
}  // namespace sluice::net

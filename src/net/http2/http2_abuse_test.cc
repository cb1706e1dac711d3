// Attacks of a hostile peer on an HTTP/2 connection.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <optional>

#include "net/http/gzip.h"
#include "net/testing/http2_client.h"

namespace sluice::net {
namespace {

using Headers = Http2TestClient::Headers;

class Http2AbuseTest : public testing::Test {
 protected:
  void SetUp() override { client_.run(); }

  void expect_calm_down() {
    EXPECT_EQ(client_.goaway_code, NGHTTP2_ENHANCE_YOUR_CALM);
    EXPECT_TRUE(client_.session.finished());
  }
  // Sends the same frames again and again; true if the session has ended.
  bool flood(int times, const std::string& frames) {
    for (int i = 0; i < times && !client_.session.finished(); ++i) client_.inject(frames);
    return client_.session.finished();
  }

  ManualClock clock_{784'111'777'000'000};
  TestApplication application_;
  SessionContext context_{application_, clock_};
  Http2TestClient client_{context_};
};

TEST_F(Http2AbuseTest, floods_of_control_frames_end_the_connection) {
  const std::string ping = Http2TestClient::frame(NGHTTP2_PING, 0, 0, "12345678");
  EXPECT_FALSE(flood(500, ping));
  EXPECT_TRUE(flood(3'000, ping));
  expect_calm_down();
}

TEST_F(Http2AbuseTest, every_kind_of_cheap_frame_counts) {
  const std::string window(("\0\0\0\1"), 4);
  const struct {
    const char* why;
    std::string frame;
  } rows[] = {
      {"SETTINGS", Http2TestClient::frame(NGHTTP2_SETTINGS, 0, 0, "")},
      {"PRIORITY", Http2TestClient::frame(NGHTTP2_PRIORITY, 0, 101, std::string(5, '\0'))},
      {"unknown type", Http2TestClient::frame(0x2a, 0, 0, "whatever")},
      {"unknown type, empty, on a stream", Http2TestClient::frame(0xff, 0, 101, "")},
      {"PRIORITY_UPDATE", Http2TestClient::frame(0x10, 0, 0, std::string(4, '\0'))},
      {"WINDOW_UPDATE", Http2TestClient::frame(NGHTTP2_WINDOW_UPDATE, 0, 0, window)},
  };
  for (const auto& row : rows) {
    Http2TestClient client(context_);
    client.run();
    for (int i = 0; i < 5'000 && !client.session.finished(); ++i) client.inject(row.frame);
    EXPECT_TRUE(client.session.finished()) << row.why;
    EXPECT_EQ(client.goaway_code, NGHTTP2_ENHANCE_YOUR_CALM) << row.why;
  }
}

TEST_F(Http2AbuseTest, empty_data_frames_count_too) {
  const std::int32_t id = client_.request(Http2TestClient::http_headers("POST", "/a"), "x", true);
  client_.run();
  EXPECT_TRUE(flood(5'000, Http2TestClient::frame(NGHTTP2_DATA, 0, static_cast<std::uint32_t>(id), "")));
  expect_calm_down();
}

TEST_F(Http2AbuseTest, a_slow_stream_of_pings_is_fine) {
  const std::string ping = Http2TestClient::frame(NGHTTP2_PING, 0, 0, "12345678");
  for (int second = 0; second < 10; ++second) {
    EXPECT_FALSE(flood(1'000, ping));
    clock_.advance(1'000'000);
    context_.refresh_time();
  }
}

TEST_F(Http2AbuseTest, honest_calls_earn_their_window_updates) {
  for (int i = 0; i < 3'000; ++i) {
    client_.call("/test.Echo/Unary", "x");
    nghttp2_submit_window_update(client_.client, NGHTTP2_FLAG_NONE, 0, 1);
    nghttp2_submit_ping(client_.client, NGHTTP2_FLAG_NONE, nullptr);
    client_.run();
  }
  EXPECT_FALSE(client_.session.finished());
  EXPECT_EQ(client_.goaways, 0);
}

TEST_F(Http2AbuseTest, rapid_reset) {
  int streams = 0;
  for (; streams < 1'000 && !client_.session.finished(); ++streams) {
    const std::int32_t id = client_.request(Http2TestClient::http_headers("GET", "/later"), "");
    client_.run();
    nghttp2_submit_rst_stream(client_.client, NGHTTP2_FLAG_NONE, id, NGHTTP2_CANCEL);
    client_.run();
  }
  EXPECT_LE(streams, 300);
  expect_calm_down();
}

TEST_F(Http2AbuseTest, resets_that_the_peer_provokes_count_the_same) {
  const std::string too_much("\x7f\xff\xff\xff", 4);
  int streams = 0;
  for (; streams < 1'000 && !client_.session.finished(); ++streams) {
    const std::int32_t id = client_.request(Http2TestClient::http_headers("GET", "/later"), "");
    client_.run();
    // A window beyond 2^31 makes the server reset the stream.
    client_.inject(
        Http2TestClient::frame(NGHTTP2_WINDOW_UPDATE, 0, static_cast<std::uint32_t>(id), too_much));
    client_.run();
  }
  EXPECT_LE(streams, 300);
  expect_calm_down();
}

TEST_F(Http2AbuseTest, header_bombs_count_as_resets) {
  Headers bomb = Http2TestClient::http_headers("GET", "/a");
  for (int i = 0; i < 50; ++i) bomb.emplace_back("x", std::string(1'000, 'y'));
  int streams = 0;
  for (; streams < 1'000 && !client_.session.finished(); ++streams) {
    client_.request(bomb, "");
    client_.run();
  }
  EXPECT_LE(streams, 300);
  EXPECT_EQ(client_.answers[1].status(), 431);
  EXPECT_TRUE(application_.requests.empty());
}

// A header of 3,900 bytes, once; then each byte of a block stands for all of it.
class Http2ReferencesTest : public Http2AbuseTest {
 protected:
  // Literal with incremental indexing, of a new name: "x: yyy…". 3900 = 127 + (0xbd - 128) + 29 * 128.
  const std::string large_ = "\x40\x01x\x7f\xbd\x1d" + std::string(3'900, 'y');
  // :method, :scheme http, :path / and, without being added to the table, :authority test.
  const std::string get_ = "\x82\x86\x84\x01\x04test";
  const std::string post_ = "\x83\x86\x84\x01\x04test";
  const std::string references_ = std::string(10'000, '\xbe');
  static constexpr std::uint8_t kWhole = NGHTTP2_FLAG_END_HEADERS | NGHTTP2_FLAG_END_STREAM;

  // The code of the RST_STREAM frame among the bytes that the server sends; none: there is none.
  std::optional<std::uint32_t> reset_after(std::string frames) {
    std::string out;
    client_.session.receive({frames.data(), frames.size()}, out);
    client_.deliver(out);
    const std::string_view sent = out;
    const auto number = [&](std::size_t at, std::size_t bytes) {
      std::uint32_t value = 0;
      for (std::size_t i = 0; i < bytes; ++i) value = value << 8 | static_cast<unsigned char>(sent[at + i]);
      return value;
    };
    for (std::size_t at = 0; at + 9 <= sent.size(); at += 9 + number(at, 3))
      if (sent[at + 3] == NGHTTP2_RST_STREAM) return number(at + 9, 4);
    return std::nullopt;
  }
};

TEST_F(Http2ReferencesTest, a_block_that_refers_to_megabytes_ends_its_stream_alone) {
  EXPECT_EQ(reset_after(Http2TestClient::frame(NGHTTP2_HEADERS, kWhole, 1, get_ + large_)), std::nullopt);
  EXPECT_EQ(reset_after(Http2TestClient::frame(NGHTTP2_HEADERS, kWhole, 3, get_ + references_)),
            NGHTTP2_ENHANCE_YOUR_CALM);
  EXPECT_EQ(reset_after(Http2TestClient::frame(NGHTTP2_HEADERS, kWhole, 5, get_ + "\xbe")), std::nullopt)
      << "the table of headers is in step, and others on the connection go on";
  EXPECT_FALSE(client_.session.finished());
  EXPECT_EQ(application_.requests.size(), 2u);
}

TEST_F(Http2ReferencesTest, trailers_are_counted_too) {
  EXPECT_EQ(reset_after(Http2TestClient::frame(NGHTTP2_HEADERS, NGHTTP2_FLAG_END_HEADERS, 1, post_ + large_)),
            std::nullopt);
  EXPECT_EQ(reset_after(Http2TestClient::frame(NGHTTP2_HEADERS, kWhole, 1, references_)),
            NGHTTP2_ENHANCE_YOUR_CALM);
  EXPECT_TRUE(application_.requests.empty());
}

TEST_F(Http2ReferencesTest, many_of_them_end_the_connection) {
  client_.inject(Http2TestClient::frame(NGHTTP2_HEADERS, kWhole, 1, get_ + large_));
  std::uint32_t id = 3;
  for (; id < 2'000 && !client_.session.finished(); id += 2)
    client_.inject(Http2TestClient::frame(NGHTTP2_HEADERS, kWhole, id, get_ + references_));
  EXPECT_LE(id, 2 * 201u + 3);
  expect_calm_down();
}

TEST_F(Http2AbuseTest, messages_that_unpack_to_a_thousand_times_their_size_are_soon_not_unpacked) {
  std::string bomb;
  Gzip().pack(std::string(1'500'000, 'x'), bomb);
  ASSERT_LT(bomb.size(), 10'000u);
  Headers headers = Http2TestClient::grpc_headers("/test.Echo/Unary");
  headers.emplace_back("grpc-encoding", "gzip");
  const auto answer = [&] {
    const std::int32_t id = client_.request(headers, Http2TestClient::framed(bomb, true));
    client_.run();
    return client_.answers[id].header("grpc-message");
  };
  EXPECT_THAT(answer(), testing::HasSubstr("larger than this server accepts"));
  for (int i = 0; i < 5; ++i) answer();
  EXPECT_THAT(answer(), testing::HasSubstr("too many compressed messages"));
  EXPECT_FALSE(client_.session.finished()) << "others on the connection go on";
  clock_.advance(1'000'000);
  context_.refresh_time();
  EXPECT_THAT(answer(), testing::HasSubstr("larger than this server accepts")) << "a second later";
}

TEST_F(Http2AbuseTest, honest_batches_may_be_compressed_without_end) {
  std::string batch, packed;
  for (int i = 0; i < 1'000; ++i) batch += "tenant-a /search user-" + std::to_string(i % 10) + " cost 1;";
  Gzip().pack(batch, packed);
  ASSERT_LT(packed.size() * 20, batch.size()) << "they shrink well";
  for (int i = 0; i < 500; ++i) {
    Headers headers = Http2TestClient::grpc_headers("/test.Echo/Unary");
    headers.emplace_back("grpc-encoding", "gzip");
    const auto id = client_.request(headers, Http2TestClient::framed(packed, true));
    client_.run();
    ASSERT_EQ(client_.answers[id].grpc_status(), "0") << i;
    nghttp2_submit_window_update(client_.client, NGHTTP2_FLAG_NONE, 0,
                                 static_cast<std::int32_t>(batch.size()));
  }
  EXPECT_FALSE(client_.session.finished());
}

TEST_F(Http2AbuseTest, endless_continuation_frames_end_the_connection) {
  // HEADERS without END_HEADERS, then CONTINUATION frames with one header each (a literal, not indexed: "a:
  // b").
  client_.inject(Http2TestClient::frame(NGHTTP2_HEADERS, 0, 1, "\x82\x86\x84"));
  const std::string part = Http2TestClient::frame(NGHTTP2_CONTINUATION, 0, 1,
                                                  std::string("\x00\x01"
                                                              "a\x01"
                                                              "b",
                                                              5));
  EXPECT_TRUE(flood(100, part));
}

TEST_F(Http2AbuseTest, too_many_half_sent_bodies_end_the_connection) {
  for (int i = 0; i < 20; ++i)
    client_.request(Http2TestClient::http_headers("POST", "/a"), std::string(1'000'000, 'x'), true);
  client_.run();
  expect_calm_down();
}

TEST_F(Http2AbuseTest, a_peer_that_asks_and_takes_no_answers_is_not_served_for_long) {
  const struct {
    const char* why;
    Headers headers;
    std::string body;
  } rows[] = {
      {"HTTP", Http2TestClient::http_headers("GET", "/big"), ""},
      {"unary calls", Http2TestClient::grpc_headers("/test.Echo/Unary"),
       Http2TestClient::framed(std::string(1'000'000, 'x'))},
      {"streaming calls", Http2TestClient::grpc_headers("/test.Echo/Stream"),
       Http2TestClient::framed(std::string(500'000, 'x'))},
  };
  for (const auto& row : rows) {
    application_.requests.clear();
    Http2TestClient client(context_, 0);
    client.run();
    for (int i = 0; i < 100 && !client.session.finished(); ++i) {
      client.request(row.headers, row.body);
      client.run();
    }
    EXPECT_GE(application_.requests.size(), 4u) << row.why;
    EXPECT_LE(application_.requests.size(), 7u) << row.why;
    EXPECT_LE(client.session.held_bytes(), 2 * kConnectionOutputBytesMax + 2 * kBufferedRequestBytesMax)
        << row.why;
  }
}

TEST_F(Http2AbuseTest, a_peer_that_takes_its_answers_in_time_may_ask_without_end) {
  for (int i = 0; i < 20; ++i) {
    const std::int32_t id = client_.request(Http2TestClient::http_headers("GET", "/big"), "");
    nghttp2_submit_window_update(client_.client, NGHTTP2_FLAG_NONE, 0, TestApplication::kBigBytes);
    client_.run();
    nghttp2_submit_window_update(client_.client, NGHTTP2_FLAG_NONE, id, TestApplication::kBigBytes);
    client_.run();
    EXPECT_EQ(client_.answers[id].body.size(), TestApplication::kBigBytes);
  }
  EXPECT_EQ(client_.goaways, 0);
}

TEST_F(Http2AbuseTest, a_crowd_of_streams_leaves_little_memory_behind) {
  auto crowd = std::make_unique<Http2TestClient>(context_);
  crowd->run();
  for (int i = 0; i < 900; ++i) crowd->request(Http2TestClient::http_headers("GET", "/later"), "");
  crowd->run();
  EXPECT_EQ(application_.requests.size(), 900u);
  crowd.reset();
  EXPECT_EQ(context_.streams.size(), kIdleStreamsMax);
}

TEST_F(Http2AbuseTest, headers_that_never_end_are_not_waited_for) {
  client_.inject(Http2TestClient::frame(NGHTTP2_HEADERS, 0, 1, "\x82\x86\x84"));
  clock_.advance(context_.timeouts.request_us);
  context_.refresh_time();
  std::string out;
  client_.session.tick(out);
  EXPECT_TRUE(client_.session.finished());
}

TEST_F(Http2AbuseTest, garbage_ends_the_connection_and_nothing_else) {
  const struct {
    const char* why;
    std::string bytes;
  } rows[] = {
      {"frame too large", Http2TestClient::frame(NGHTTP2_DATA, 0, 1, std::string(20'000, 'x'))},
      {"DATA on stream 0", Http2TestClient::frame(NGHTTP2_DATA, 0, 0, "x")},
      {"HEADERS on an even stream", Http2TestClient::frame(NGHTTP2_HEADERS, 5, 2, "\x82\x86\x84")},
      {"broken header compression",
       Http2TestClient::frame(NGHTTP2_HEADERS, 5, 1, "\xff\xff\xff\xff\xff\xff")},
      {"PING of seven bytes", Http2TestClient::frame(NGHTTP2_PING, 0, 0, "1234567")},
      {"push from a client", Http2TestClient::frame(NGHTTP2_PUSH_PROMISE, 4, 1, std::string(8, '\0'))},
  };
  for (const auto& row : rows) {
    Http2TestClient client(context_);
    client.run();
    client.inject(row.bytes);
    EXPECT_TRUE(client.session.finished()) << row.why;
    EXPECT_EQ(client.goaways, 1) << row.why;
  }
}

}  // namespace
}  // namespace sluice::net

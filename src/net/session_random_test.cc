// Sessions under random input.
#include <gtest/gtest.h>

#include <random>

#include "base/testing/seed.h"
#include "net/http1/http1_session.h"
#include "net/testing/http2_client.h"

namespace sluice::net {
namespace {

using namespace std::literals;

class Bench final : public SessionHost {
 public:
  void output_ready() override {}

  // A session's answer to these bytes, received in pieces of random sizes; all at once if `random` is null.
  std::string answer(Protocol protocol, std::string bytes, std::mt19937* random) {
    const auto session = make_session(protocol, context_, *this, kTestPeer);
    std::string out;
    for (std::size_t at = 0; at < bytes.size();) {
      const std::size_t piece =
          random ? std::min<std::size_t>(1 + (*random)() % 40, bytes.size() - at) : bytes.size();
      // A separate string, so that the sanitizer detects every overrun.
      std::string copy = bytes.substr(at, piece);
      session->receive({copy.data(), copy.size()}, out);
      at += piece;
    }
    clock_.advance(context_.timeouts.request_us + context_.timeouts.idle_us);
    context_.refresh_time();
    session->tick(out);
    return out;
  }
  std::size_t requests() const { return application_.requests.size(); }

 private:
  ManualClock clock_{784'111'777'000'000};
  TestApplication application_;
  SessionContext context_{application_, clock_};
};

// Removes the dates, which differ because every run moves the clock.
std::string without_dates(std::string text) {
  for (std::size_t at; (at = text.find("date: ")) != std::string::npos;)
    text.erase(at, text.find("\r\n", at) - at);
  return text;
}

void mutate(std::string& bytes, std::mt19937& random) {
  static constexpr std::string_view kNasty = "\r\n\0 \t:;,/0123456789abcdefxX\x7f\x80\xff"sv;
  for (unsigned i = random() % 4; i > 0 && !bytes.empty(); --i) {
    const std::size_t at = random() % bytes.size();
    switch (random() % 4) {
      case 0:
        bytes[at] = kNasty[random() % kNasty.size()];
        break;
      case 1:
        bytes.erase(at, 1 + random() % 3);
        break;
      case 2:
        bytes.insert(at, 1, kNasty[random() % kNasty.size()]);
        break;
      default:
        bytes.insert(at, bytes.substr(at, random() % 20));
        break;
    }
  }
}

TEST(RandomSessions, http1_answers_the_same_however_its_input_is_cut) {
  const std::uint64_t seed = test_seed();
  SCOPED_TRACE("SLUICE_SEED=" + std::to_string(seed));
  std::mt19937 random(static_cast<unsigned>(seed));
  const std::string parts[] = {
      "GET /a?b=c HTTP/1.1\r\nHost: x\r\n\r\n",
      "POST /b HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\n\r\nhello",
      "POST /c HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n3;e\r\nabc\r\n0\r\nt: u\r\n\r\n",
      "HEAD /d HTTP/1.0\r\nConnection: keep-alive\r\n\r\n",
  };
  Bench bench;
  for (int round = 0; round < 3'000; ++round) {
    std::string bytes;
    for (unsigned i = 1 + random() % 4; i > 0; --i) bytes += parts[random() % std::size(parts)];
    mutate(bytes, random);
    const std::string whole = without_dates(bench.answer(Protocol::kHttp1, bytes, nullptr));
    const std::string in_pieces = without_dates(bench.answer(Protocol::kHttp1, bytes, &random));
    ASSERT_EQ(whole, in_pieces) << testing::PrintToString(bytes);
  }
  EXPECT_GT(bench.requests(), 3'000u) << "most of the input should still be understood";
}

// What a client sends for a few calls, recorded.
std::string recorded_calls() {
  ManualClock clock(784'111'777'000'000);
  TestApplication application;
  SessionContext context(application, clock);
  Http2TestClient client(context);
  client.call("/test.Echo/Unary", "hello", {{"x-bin", "AP8"}, {"grpc-timeout", "5S"}});
  client.call("/test.Echo/Stream", "one");
  client.call("/test.Echo/Later", "two", {{"grpc-encoding", "gzip"}});
  client.request(Http2TestClient::http_headers("POST", "/a"), "{}");
  std::string bytes;
  const std::uint8_t* data = nullptr;
  for (ssize_t n; (n = nghttp2_session_mem_send(client.client, &data)) > 0;)
    bytes.append(reinterpret_cast<const char*>(data), static_cast<std::size_t>(n));
  return bytes;
}

TEST(RandomSessions, http2_survives_broken_frames) {
  const std::uint64_t seed = test_seed();
  SCOPED_TRACE("SLUICE_SEED=" + std::to_string(seed));
  std::mt19937 random(static_cast<unsigned>(seed));
  const std::string good = recorded_calls();
  const std::size_t preface_bytes = 24;
  Bench bench;
  for (int round = 0; round < 3'000; ++round) {
    std::string frames = good.substr(preface_bytes);
    mutate(frames, random);
    const std::string out = bench.answer(Protocol::kHttp2, good.substr(0, preface_bytes) + frames, &random);
    ASSERT_FALSE(out.empty());
  }
  EXPECT_GT(bench.requests(), 3'000u) << "most of the input should still be understood";
}

}  // namespace
}  // namespace sluice::net

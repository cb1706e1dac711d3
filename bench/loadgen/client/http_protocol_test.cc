#include "loadgen/client/http_protocol.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace sluice::loadgen {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

class HttpProtocolTest : public testing::Test {
 protected:
  // Feeds the bytes and returns the outcomes of the calls: "A"llowed, "D"enied, "F"ailed; "!" for a broken
  // connection.
  std::string feed(std::string_view bytes) {
    std::vector<FinishedCall> finished;
    const auto read = protocol_.read(bytes, finished);
    std::string outcomes;
    for (const FinishedCall& call : finished) outcomes += "ADF"[static_cast<int>(call.outcome)];
    return read ? outcomes : outcomes + "!";
  }
  void start(int calls) {
    for (int i = 0; i < calls; ++i) ASSERT_TRUE(protocol_.start({.intended_us = i, .key = 0}));
  }

  static constexpr std::string_view kAllowed =
      "HTTP/1.1 200 OK\r\ncontent-length: 16\r\n\r\n{\"allowed\":true}";
  static constexpr std::string_view kDenied =
      "HTTP/1.1 200 OK\r\nContent-Length: 17\r\n\r\n{\"allowed\":false}";
  static constexpr std::string_view kOverload = "HTTP/1.1 503 Busy\r\nContent-Length: 4\r\n\r\nbusy";
  Payload payload_ = Payload::http_check({}, "localhost");
  HttpProtocol protocol_{payload_, 3};
};

TEST_F(HttpProtocolTest, SendsOneRequestPerCallWithItsKey) {
  ASSERT_TRUE(protocol_.start({.intended_us = 1, .key = 12}));
  ASSERT_TRUE(protocol_.start({.intended_us = 2, .key = 34}));
  std::string out, more;
  protocol_.write(out);
  protocol_.write(more);
  EXPECT_THAT(out, HasSubstr("k000000012"));
  EXPECT_THAT(out, HasSubstr("k000000034"));
  std::string one;
  payload_.render(12, one);
  EXPECT_EQ(out.size(), 2 * one.size());
  EXPECT_EQ(more, "");
}

TEST_F(HttpProtocolTest, PipelinesNoMoreThanItMay) {
  start(3);
  EXPECT_FALSE(protocol_.start({}));
  EXPECT_EQ(feed(kAllowed), "A");
  EXPECT_TRUE(protocol_.start({}));
}

TEST_F(HttpProtocolTest, AnswersMayComeTogether) {
  start(3);
  EXPECT_EQ(feed(std::string(kAllowed) + std::string(kDenied) + std::string(kOverload)), "ADF");
  EXPECT_EQ(protocol_.first_failure(), "HTTP status 503: busy");
}

TEST_F(HttpProtocolTest, AnswersMayComeByteByByte) {
  start(2);
  std::string outcomes;
  for (const char c : std::string(kDenied) + std::string(kAllowed)) outcomes += feed({&c, 1});
  EXPECT_EQ(outcomes, "DA");
}

TEST_F(HttpProtocolTest, TellsWhichCallsWait) {
  start(3);
  feed(kAllowed);
  std::vector<std::int64_t> pending;
  protocol_.pending(pending);
  EXPECT_THAT(pending, ElementsAre(1, 2));
}

TEST_F(HttpProtocolTest, StopsWhenTheServerWantsToClose) {
  start(1);
  EXPECT_EQ(feed("HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 0\r\n\r\n"), "D");
  EXPECT_TRUE(protocol_.closing());
  EXPECT_FALSE(protocol_.start({}));
}

TEST_F(HttpProtocolTest, RefusesWhatItCannotRead) {
  start(1);
  EXPECT_EQ(feed("SSH-2.0-OpenSSH\r\n\r\n"), "!");
}

TEST_F(HttpProtocolTest, RefusesAnswersWithoutALength) {
  start(1);
  EXPECT_EQ(feed("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"), "!");
}

TEST_F(HttpProtocolTest, RefusesAnswersToNothing) { EXPECT_EQ(feed(kAllowed), "!"); }

}  // namespace
}  // namespace sluice::loadgen

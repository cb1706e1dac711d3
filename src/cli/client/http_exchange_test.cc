#include "cli/client/http_exchange.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace sluice::cli {
namespace {

using testing::HasSubstr;

std::string read(std::string_view bytes) {
  const auto answer = read_http_answer(bytes);
  return answer ? std::to_string(answer->status) + ' ' + answer->body : answer.error();
}

TEST(HttpExchange, StatusAndBody) {
  EXPECT_EQ(read("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}"), "200 {}");
  EXPECT_EQ(read("HTTP/1.1 200 OK\r\ncontent-length:2\r\n\r\n{}and more"), "200 {}");
  EXPECT_EQ(read("HTTP/1.0 404 Not Found\r\n\r\nuntil the end"), "404 until the end");
  EXPECT_EQ(read("HTTP/1.1 204 No Content\r\n\r\n"), "204 ");
}

TEST(HttpExchange, WhatIsNoWholeAnswerIsNone) {
  for (const char* bytes :
       {"", "HTTP/1.1 200", "HTTP/1.1 abc OK\r\n\r\n", "+OK hello\r\n\r\n", "HTTP/2 200\r\n\r\n"})
    EXPECT_THAT(read(bytes), HasSubstr("does not speak HTTP/1.1")) << bytes;
  for (const char* bytes :
       {"HTTP/1.1 200 OK\r\ncontent-length: 3\r\n\r\n{}", "HTTP/1.1 200 OK\r\ncontent-length: -1\r\n\r\n{}",
        "HTTP/1.1 200 OK\r\ncontent-length: 2x\r\n\r\n{}"})
    EXPECT_THAT(read(bytes), HasSubstr("closed the connection in the middle")) << bytes;
  EXPECT_THAT(read("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n"),
              HasSubstr("sent a chunked answer"));
}

}  // namespace
}  // namespace sluice::cli

#include "net/http1/http1_chunked.h"

#include <gtest/gtest.h>

#include "base/limits.h"

namespace sluice::net {
namespace {

using State = ChunkedDecoder::State;

TEST(ChunkedDecoder, table) {
  const struct {
    const char* why;
    std::string input;
    State state;
    std::string body;
    std::string rest;
  } rows[] = {
      {"empty body", "0\r\n\r\n", State::kDone, "", ""},
      {"two chunks, then another request", "3\r\nabc\r\n2\r\nde\r\n0\r\n\r\nGET", State::kDone, "abcde",
       "GET"},
      {"sizes in hexadecimal, either case", "a\r\n0123456789\r\nA\r\n0123456789\r\n0\r\n\r\n", State::kDone,
       "01234567890123456789", ""},
      {"leading zeros", "0003\r\nabc\r\n0\r\n\r\n", State::kDone, "abc", ""},
      {"extension is read over", "3;name=value\r\nabc\r\n0\r\n\r\n", State::kDone, "abc", ""},
      {"trailers are read over", "0\r\nx-a: b\r\nx-c: d\r\n\r\n", State::kDone, "", ""},
      {"not finished", "3\r\nab", State::kMore, "ab", ""},
      {"no digit", "\r\nabc", State::kBad, "", ""},
      {"not hexadecimal", "3g\r\nabc", State::kBad, "", ""},
      {"sign", "+3\r\nabc", State::kBad, "", ""},
      {"0x", "0x3\r\nabc", State::kBad, "", ""},
      {"blank before the line's end", "3 \r\nabc", State::kBad, "", ""},
      {"bare LF after the size", "3\nabc\r\n0\r\n\r\n", State::kBad, "", ""},
      {"bare LF inside an extension", "3;a\nabc", State::kBad, "", ""},
      {"data longer than its size", "3\r\nabcd\r\n", State::kBad, "abc", ""},
      {"bare LF after the data", "3\r\nabc\n0\r\n\r\n", State::kBad, "abc", ""},
      {"nine digits", "000000003\r\nabc", State::kBad, "", ""},
      {"larger than a body may be", "fffffff\r\nabc", State::kTooLarge, "", ""},
      {"bare LF ends the trailers", "0\r\n\n", State::kBad, "", ""},
  };
  for (const auto& row : rows) {
    ChunkedDecoder decoder;
    std::string_view input = row.input;
    std::string body;
    EXPECT_EQ(decoder.decode(input, body), row.state) << row.why;
    EXPECT_EQ(body, row.body) << row.why;
    if (row.state == State::kDone) {
      EXPECT_EQ(input, row.rest) << row.why;
    }
  }
}

TEST(ChunkedDecoder, does_not_care_how_the_bytes_are_cut) {
  const std::string input = "5;x\r\nhello\r\n6\r\n world\r\n0\r\nt: u\r\n\r\n";
  ChunkedDecoder decoder;
  std::string body;
  State state = State::kMore;
  for (std::size_t i = 0; i < input.size(); ++i) {
    ASSERT_EQ(state, State::kMore);
    std::string_view one = std::string_view(input).substr(i, 1);
    state = decoder.decode(one, body);
  }
  EXPECT_EQ(state, State::kDone);
  EXPECT_EQ(body, "hello world");
}

TEST(ChunkedDecoder, endless_extensions_and_trailers_are_refused) {
  for (const std::string begin : {"3;", "0\r\nx: "}) {
    ChunkedDecoder decoder;
    const std::string input = begin + std::string(kHeaderBytesMax + 1, 'x');
    std::string_view view = input;
    std::string body;
    EXPECT_EQ(decoder.decode(view, body), State::kBad);
  }
}

TEST(ChunkedDecoder, many_chunks_can_not_exceed_the_body_limit) {
  ChunkedDecoder decoder;
  const std::string chunk = "10000\r\n" + std::string(0x10000, 'x') + "\r\n";
  std::string body;
  State state = State::kMore;
  for (int i = 0; i < 100 && state == State::kMore; ++i) {
    std::string_view view = chunk;
    state = decoder.decode(view, body);
  }
  EXPECT_EQ(state, State::kTooLarge);
  EXPECT_LE(body.size(), kBodyBytesMax);
}

}  // namespace
}  // namespace sluice::net

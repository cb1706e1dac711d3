#include "net/http1/http1_chunked.h"

#include <algorithm>

#include "base/limits.h"

namespace sluice::net {
namespace {

constexpr unsigned kSizeDigitsMax = 8;

int hex_digit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

bool is_control(char c) { return (static_cast<unsigned char>(c) < 0x20 && c != '\t') || c == 0x7f; }

}  // namespace

ChunkedDecoder::State ChunkedDecoder::decode(std::string_view& input, std::string& body) {
  while (!input.empty()) {
    if (expect_ == Expect::kData) {
      const auto take = static_cast<std::size_t>(std::min<std::uint64_t>(size_, input.size()));
      if (body.size() + take > kBodyBytesMax) return State::kTooLarge;
      body.append(input.substr(0, take));
      input.remove_prefix(take);
      size_ -= take;
      if (size_ == 0) expect_ = Expect::kDataReturn;
      continue;
    }
    const char c = input.front();
    input.remove_prefix(1);
    const State state = step(c);
    if (state != State::kMore) return state;
    if (expect_ == Expect::kData && body.size() + size_ > kBodyBytesMax) return State::kTooLarge;
  }
  return State::kMore;
}

// Handles one byte that is not chunk data.
ChunkedDecoder::State ChunkedDecoder::step(char c) {
  switch (expect_) {
    case Expect::kSize:
      if (const int digit = hex_digit(c); digit >= 0) {
        if (++size_digits_ > kSizeDigitsMax) return State::kBad;
        size_ = size_ * 16 + static_cast<std::uint64_t>(digit);
        return State::kMore;
      }
      if (size_digits_ == 0) return State::kBad;
      if (c == ';') return expect_ = Expect::kExtension, State::kMore;
      if (c == '\r') return expect_ = Expect::kSizeFeed, State::kMore;
      return State::kBad;
    case Expect::kExtension:
      if (c == '\r') return expect_ = Expect::kSizeFeed, State::kMore;
      return is_control(c) || ++overhead_bytes_ > kHeaderBytesMax ? State::kBad : State::kMore;
    case Expect::kSizeFeed:
      if (c != '\n') return State::kBad;
      expect_ = size_ == 0 ? Expect::kTrailer : Expect::kData;
      size_digits_ = 0;
      return State::kMore;
    case Expect::kDataReturn:
      return expect_ = Expect::kDataFeed, c == '\r' ? State::kMore : State::kBad;
    case Expect::kDataFeed:
      return expect_ = Expect::kSize, c == '\n' ? State::kMore : State::kBad;
    case Expect::kTrailer:
      if (c == '\r') return expect_ = Expect::kTrailerFeed, State::kMore;
      ++trailer_line_bytes_;
      return is_control(c) || ++overhead_bytes_ > kHeaderBytesMax ? State::kBad : State::kMore;
    case Expect::kTrailerFeed:
      if (c != '\n') return State::kBad;
      if (trailer_line_bytes_ == 0) return expect_ = Expect::kEnd, State::kDone;
      trailer_line_bytes_ = 0;
      expect_ = Expect::kTrailer;
      return State::kMore;
    case Expect::kData:
    case Expect::kEnd:
      break;
  }
  return State::kBad;
}

}  // namespace sluice::net

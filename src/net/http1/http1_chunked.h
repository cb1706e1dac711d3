#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace sluice::net {

// Decodes a chunked request body incrementally. Not thread-safe.
//
// Strict: sizes are hexadecimal digits and nothing else, lines end in CR LF. Extensions and trailers are
// skipped, up to a limit.
class ChunkedDecoder {
 public:
  enum class State { kMore, kDone, kBad, kTooLarge };

  // Consumes bytes from the front of `input` and appends the decoded body to `body`. At kDone, the rest of
  // `input` belongs to the next request.
  State decode(std::string_view& input, std::string& body);
  void reset() { *this = ChunkedDecoder(); }

 private:
  enum class Expect {
    kSize,
    kExtension,
    kSizeFeed,
    kData,
    kDataReturn,
    kDataFeed,
    kTrailer,
    kTrailerFeed,
    kEnd
  };

  State step(char c);

  Expect expect_ = Expect::kSize;
  std::uint64_t size_ = 0;
  unsigned size_digits_ = 0;
  std::size_t overhead_bytes_ = 0;  // extensions and trailers
  std::size_t trailer_line_bytes_ = 0;
};

}  // namespace sluice::net

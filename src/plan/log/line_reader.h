#pragma once

#include <cstddef>
#include <expected>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "base/limits.h"

namespace sluice::plan {

// Fills the front of the buffer with the next bytes and returns how many; 0: the end. The error is a
// sentence.
using ReadBytes = std::function<std::expected<std::size_t, std::string>(std::span<char>)>;

// Splits a stream of bytes, read in large pieces, into lines. A line longer than kLogLineBytesMax is skipped
// and reported as too long. Not thread-safe.
//
//   LineReader lines(read_bytes);
//   while (auto line = lines.next(); …)
class LineReader {
 public:
  explicit LineReader(ReadBytes read);

  enum class Kind { kLine, kTooLong, kEnd };

  // With kLine, line() is the line without its end (\n or \r\n), valid until the next call. The error is that
  // of the stream.
  std::expected<Kind, std::string> next();
  std::string_view line() const { return line_; }

 private:
  std::expected<bool, std::string> fill();
  Kind take(std::size_t size, std::size_t with_end);

  ReadBytes read_;
  std::unique_ptr<char[]> buffer_;
  std::size_t begin_ = 0;  // of bytes that were read but not yet returned
  std::size_t end_ = 0;
  bool too_long_ = false;  // the beginning of this line was already dropped
  bool at_end_ = false;
  std::string_view line_;
};

}  // namespace sluice::plan

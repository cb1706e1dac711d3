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

// Fills the front of the room with the next bytes and tells how many; 0: there are no more. The error is a
// sentence.
using ReadBytes = std::function<std::expected<std::size_t, std::string>(std::span<char>)>;

// The lines of a stream of bytes, which it reads in large pieces. A line longer than kLogLineBytesMax is
// passed over, and told as such. Not thread-safe.
//
//   LineReader lines(read_bytes);
//   while (auto line = lines.next(); …)
class LineReader {
 public:
  explicit LineReader(ReadBytes read);

  enum class Kind { kLine, kTooLong, kEnd };

  // With kLine, line() is the line, without its end (\n or \r\n), until the next call. The error is the
  // stream's.
  std::expected<Kind, std::string> next();
  std::string_view line() const { return line_; }

 private:
  std::expected<bool, std::string> fill();
  Kind take(std::size_t size, std::size_t with_end);

  ReadBytes read_;
  std::unique_ptr<char[]> buffer_;
  std::size_t begin_ = 0;  // of what was read and not yet taken
  std::size_t end_ = 0;
  bool too_long_ = false;  // the beginning of this line is gone already
  bool at_end_ = false;
  std::string_view line_;
};

}  // namespace sluice::plan

#include "plan/log/line_reader.h"

#include <cstring>
#include <utility>

#include "base/try.h"

namespace sluice::plan {
namespace {

constexpr std::size_t kBufferBytes = 2 * kLogLineBytesMax;

}  // namespace

LineReader::LineReader(ReadBytes read)
    : read_(std::move(read)), buffer_(std::make_unique_for_overwrite<char[]>(kBufferBytes)) {}

// False: end of the stream.
std::expected<bool, std::string> LineReader::fill() {
  std::memmove(buffer_.get(), buffer_.get() + begin_, end_ - begin_);
  end_ -= std::exchange(begin_, 0);
  const std::size_t got = SLUICE_TRY(read_({buffer_.get() + end_, kBufferBytes - end_}));
  end_ += got;
  at_end_ = got == 0;
  return !at_end_;
}

LineReader::Kind LineReader::take(std::size_t size, std::size_t with_end) {
  line_ = {buffer_.get() + begin_, size};
  if (line_.ends_with('\r')) line_.remove_suffix(1);
  begin_ += with_end;
  const bool too_long = std::exchange(too_long_, false) || size > kLogLineBytesMax;
  return too_long ? Kind::kTooLong : Kind::kLine;
}

std::expected<LineReader::Kind, std::string> LineReader::next() {
  std::size_t searched = 0;
  while (true) {
    const char* const from = buffer_.get() + begin_ + searched;
    searched = end_ - begin_;
    if (const void* found = std::memchr(from, '\n', static_cast<std::size_t>(buffer_.get() + end_ - from))) {
      const auto size = static_cast<std::size_t>(static_cast<const char*>(found) - (buffer_.get() + begin_));
      return take(size, size + 1);
    }
    if (searched > kLogLineBytesMax) {
      too_long_ = true;
      begin_ = end_;
      searched = 0;
    }
    if (!at_end_) {
      const bool has_more = SLUICE_TRY(fill());
      if (has_more) continue;
    }
    if (end_ == begin_ && !too_long_) return Kind::kEnd;
    return take(end_ - begin_, end_ - begin_);
  }
}

}  // namespace sluice::plan

#include "redis/protocol/command_parser.h"

#include <charconv>
#include <cstdint>
#include <optional>

namespace sluice::redis {
namespace {

constexpr std::string_view kLineEnd = "\r\n";
constexpr std::size_t kNumberLineBytesMax = 24;  // the sign, any 64-bit number, the end of the line

// Reads the number between the sign at `at` and the end of the line. `end` is set to the position after that.
enum class NumberLine { kWhole, kNeedMore, kWrong };

NumberLine read_number(std::string_view bytes, std::size_t at, std::int64_t& number, std::size_t& end) {
  const char* const first = bytes.data() + at + 1;
  const char* const last = bytes.data() + bytes.size();
  const auto [stop, error] = std::from_chars(first, last, number);
  const std::string_view rest(stop, static_cast<std::size_t>(last - stop));
  if (rest.size() < kLineEnd.size() && kLineEnd.starts_with(rest) && bytes.size() - at < kNumberLineBytesMax)
    return NumberLine::kNeedMore;
  if (error != std::errc() || !rest.starts_with(kLineEnd)) return NumberLine::kWrong;
  end = static_cast<std::size_t>(stop - bytes.data()) + kLineEnd.size();
  return NumberLine::kWhole;
}

bool is_space(char c) { return c == ' ' || c == '\t'; }

}  // namespace

CommandParser::Status CommandParser::parse(std::string_view bytes) {
  if (bytes.empty()) return need(1);
  if (bytes.front() != '*') return parse_inline(bytes);
  std::int64_t words = 0;
  std::size_t at = 0;
  switch (read_number(bytes, 0, words, at)) {
    case NumberLine::kNeedMore:
      return need(bytes.size() + 1);
    case NumberLine::kWrong:
      return broken("Protocol error: invalid multibulk length");
    case NumberLine::kWhole:
      break;
  }
  if (words > static_cast<std::int64_t>(kRedisCommandWordsMax))
    return broken("Protocol error: too many arguments; no supported command takes that many");
  count_ = 0;
  for (std::int64_t i = 0; i < words; ++i) {
    if (at >= bytes.size()) return need(bytes.size() + 1);
    if (bytes[at] != '$') return broken("Protocol error: expected '$'");
    std::int64_t size = 0;
    std::size_t text = 0;
    switch (read_number(bytes, at, size, text)) {
      case NumberLine::kNeedMore:
        return need(bytes.size() + 1);
      case NumberLine::kWrong:
        return broken("Protocol error: invalid bulk length");
      case NumberLine::kWhole:
        break;
    }
    if (size < 0 || static_cast<std::size_t>(size) + text > kRedisCommandBytesMax)
      return broken("Protocol error: invalid bulk length");
    const std::size_t end = text + static_cast<std::size_t>(size);
    if (bytes.size() < end + kLineEnd.size()) return need(end + kLineEnd.size());
    if (bytes.substr(end, kLineEnd.size()) != kLineEnd)
      return broken("Protocol error: a bulk string is longer than announced");
    words_[count_++] = bytes.substr(text, static_cast<std::size_t>(size));
    at = end + kLineEnd.size();
  }
  used_ = at;
  return Status::kCommand;
}

// Words separated by spaces. Quotes, which only people use, are taken literally.
CommandParser::Status CommandParser::parse_inline(std::string_view bytes) {
  const std::size_t line_end = bytes.find('\n');
  if (line_end == bytes.npos) {
    if (bytes.size() >= kRedisInlineBytesMax) return broken("Protocol error: too big inline request");
    return need(bytes.size() + 1);
  }
  std::string_view line = bytes.substr(0, line_end);
  if (line.ends_with('\r')) line.remove_suffix(1);
  count_ = 0;
  while (!line.empty()) {
    if (is_space(line.front())) {
      line.remove_prefix(1);
      continue;
    }
    if (count_ == kRedisCommandWordsMax)
      return broken("Protocol error: too many arguments; no supported command takes that many");
    const std::size_t size = std::min(line.find_first_of(" \t"), line.size());
    words_[count_++] = line.substr(0, size);
    line.remove_prefix(size);
  }
  used_ = line_end + 1;
  return Status::kCommand;
}

CommandParser::Status CommandParser::need(std::size_t bytes) {
  needed_ = bytes;
  return Status::kNeedMore;
}

CommandParser::Status CommandParser::broken(const char* problem) {
  problem_ = problem;
  return Status::kBroken;
}

}  // namespace sluice::redis

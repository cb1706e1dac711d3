#pragma once

#include <array>
#include <cstddef>
#include <span>
#include <string_view>

#include "base/limits.h"

namespace sluice::redis {

// Reads what clients of a Redis server send, one command at a time. Not thread-safe.
//
//   *2\r\n$4\r\nECHO\r\n$2\r\nhi\r\n     a command as programs send it
//   ECHO hi\r\n                          the same as people type it ("inline")
//
//   while (parser.parse(bytes) == CommandParser::Status::kCommand) {
//     use(parser.words());
//     bytes.remove_prefix(parser.used());
//   }
//
// Clients may be broken or hostile: sizes and counts are bounded, and nothing is allocated.
class CommandParser {
 public:
  enum class Status { kNeedMore, kCommand, kBroken };

  // Looks for a command at the beginning of `bytes`. kBroken is final, as the next command cannot be found:
  // reply with problem() and close the connection.
  Status parse(std::string_view bytes);

  // After kCommand: name and arguments, views into the bytes. Empty for an empty line or an empty array,
  // which is no command and gets no reply.
  std::span<const std::string_view> words() const { return {words_.data(), count_}; }
  std::size_t used() const { return used_; }

  // After kNeedMore: do not try again with fewer bytes than this.
  std::size_t needed() const { return needed_; }

  // After kBroken, in the words of Redis: "Protocol error: invalid bulk length".
  std::string_view problem() const { return problem_; }

 private:
  Status parse_inline(std::string_view bytes);
  Status need(std::size_t bytes);
  Status broken(const char* problem);

  std::array<std::string_view, kRedisCommandWordsMax> words_;
  std::size_t count_ = 0;
  std::size_t used_ = 0;
  std::size_t needed_ = 0;
  const char* problem_ = "";
};

}  // namespace sluice::redis

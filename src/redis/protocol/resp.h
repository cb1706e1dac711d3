#pragma once

#include <cassert>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <span>
#include <string>
#include <string_view>
#include <vector>

// RESP2, the protocol of Redis and Valkey: commands out, replies in. No sockets here.
//
//   :12\r\n                 an integer              $3\r\nabc\r\n   bytes ("bulk string")
//   +OK\r\n                 a short status          $-1\r\n         nothing
//   -ERR unknown\r\n        an error                *2\r\n…         an array of two replies
namespace sluice::redis {

// Appends one command to `out`: its name and arguments. A command is an array of bulk strings.
void append_command(std::string& out, std::span<const std::string_view> words);
inline void append_command(std::string& out, std::initializer_list<std::string_view> words) {
  append_command(out, std::span(words.begin(), words.size()));
}

// The same piece by piece: append_array(out, 3) promises three calls of append_bulk.
void append_array(std::string& out, std::size_t words);
void append_bulk(std::string& out, std::string_view word);

// One value of a reply. Its bytes are in the parser's buffer.
struct RespValue {
  enum class Type : std::uint8_t { kInteger, kBytes, kStatus, kError, kNothing, kArray };
  Type type = Type::kNothing;
  std::int64_t integer = 0;  // kArray: how many values it has
  std::string_view bytes;

  bool is_error() const { return type == Type::kError; }
  bool is(std::string_view status) const { return type == Type::kStatus && bytes == status; }
};

// Parses what a server sends into replies, from pieces of any size. Not thread-safe.
//
//   parser.feed(bytes);
//   while (parser.next() == RespParser::Status::kReply) use(parser.reply());
//
// The server may be broken or hostile: sizes, counts and depth are bounded (base/limits.h), an announced size
// allocates nothing, and each byte is scanned once, however small the pieces.
class RespParser {
 public:
  enum class Status { kNeedMore, kReply, kBroken };

  void feed(std::string_view bytes);

  // Looks for the next reply. kBroken is final, as the next reply cannot be found: close the connection.
  Status next();

  // The values of the reply in the order of the wire: for an array, the array and then its elements. Valid
  // until the next call of feed() or next().
  std::span<const RespValue> reply() const { return values_; }

  // What is wrong with the bytes, after kBroken.
  std::string_view problem() const { return problem_; }

  std::size_t buffered_bytes() const { return buffer_.size() - start_; }

  // Resets the parser for a new connection.
  void clear();

 private:
  struct Located {  // where the bytes of a value are: the buffer may move while the rest arrives
    std::size_t offset = 0;
    std::size_t size = 0;
  };
  Status parse();
  Status parse_value();
  Status parse_bulk(std::int64_t size, std::size_t after_line);
  Status parse_array(std::int64_t count);
  Status add(RespValue::Type type, std::int64_t integer, Located bytes);
  Status broken(const char* problem);
  bool find_line(std::string_view& line);
  void drop_last_reply();

  std::string buffer_;
  std::size_t start_ = 0;    // of the current reply, in buffer_
  std::size_t at_ = 0;       // everything before is in values_
  std::size_t scanned_ = 0;  // there is no end of a line before this
  std::vector<RespValue> values_;
  std::vector<Located> places_;        // of values_
  std::vector<std::int64_t> missing_;  // values still to come, per open array
  const char* problem_ = "";
  bool complete_ = false;
};

}  // namespace sluice::redis

#pragma once

#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>

// Fast formatting of answers: one growth check for a whole piece of text instead of one for each part.
//
//   append_text(out, 64 + name.size(), [&](TextCursor& text) {
//     text.literal("{\"limit\":");
//     text.number(limit);
//   });
namespace sluice::doors {

inline constexpr std::size_t kNumberCharsMax = 20;  // "-9223372036854775808"

// Writes a number and returns the position after it. Faster than std::to_chars: it writes pairs of digits
// directly into place.
char* write_decimal(char* at, std::int64_t value);

// Writes into a buffer that is known to be large enough. Not thread-safe.
class TextCursor {
 public:
  explicit TextCursor(char* at) : at_(at) {}

  template <std::size_t N>
  void literal(const char (&text)[N]) {
    std::memcpy(at_, text, N - 1);
    at_ += N - 1;
  }
  void text(std::string_view text) {
    std::memcpy(at_, text.data(), text.size());
    at_ += text.size();
  }
  void character(char c) { *at_++ = c; }
  void number(std::int64_t value) { at_ = write_decimal(at_, value); }
  void boolean(bool value) {
    if (value)
      literal("true");
    else
      literal("false");
  }
  // A JSON string with its quotes; needs at most json_string_room(text) characters.
  void json_string(std::string_view text);

  char* at() const { return at_; }

 private:
  char* at_;
};

constexpr std::size_t json_string_room(std::string_view text) { return 6 * text.size() + 2; }

// Calls `write` with a cursor over `room` spare characters at the end of `out`, and keeps what it wrote.
// REQUIRES: `write` stays within the room.
template <class Write>
void append_text(std::string& out, std::size_t room, Write&& write) {
  const std::size_t before = out.size();
  if (out.capacity() < before + room) out.reserve(2 * (before + room));
  out.resize_and_overwrite(before + room, [&](char* data, std::size_t) {
    TextCursor cursor(data + before);
    write(cursor);
    return static_cast<std::size_t>(cursor.at() - data);
  });
}

inline void append_json_string(std::string& out, std::string_view text) {
  append_text(out, json_string_room(text), [&](TextCursor& cursor) { cursor.json_string(text); });
}

}  // namespace sluice::doors

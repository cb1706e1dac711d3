#include "base/text/json_reader.h"

#include <bit>
#include <cassert>
#include <charconv>
#include <cstring>

#include "base/text/number_text.h"
#include "base/text/utf8.h"

namespace sluice {
namespace {

// The first character at or after `at` that a plain ASCII string does not contain: a quote, a backslash, a
// control character or a byte above 127. Looks at eight bytes at a time.
const char* plain_end(const char* at, const char* end) {
  constexpr std::uint64_t kOnes = 0x0101010101010101u;
  constexpr std::uint64_t kHighs = 0x8080808080808080u;
  while (end - at >= 8) {
    std::uint64_t word = 0;
    std::memcpy(&word, at, 8);
    const auto zero_bytes = [](std::uint64_t w) { return (w - kOnes) & ~w; };
    // A borrow may flag extra bytes above a real hit, but never below one.
    const std::uint64_t hits =
        (zero_bytes(word ^ kOnes * '"') | zero_bytes(word ^ kOnes * '\\') | (word - kOnes * 0x20) | word) &
        kHighs;
    if (hits != 0) {
      if constexpr (std::endian::native == std::endian::little) return at + std::countr_zero(hits) / 8;
      break;
    }
    at += 8;
  }
  while (at != end && static_cast<unsigned char>(*at) >= 0x20 && static_cast<unsigned char>(*at) < 0x80 &&
         *at != '"' && *at != '\\')
    ++at;
  return at;
}

std::optional<std::uint32_t> hex4(const char* at, const char* end) {
  std::uint32_t value = 0;
  if (end - at < 4) return std::nullopt;
  for (int i = 0; i < 4; ++i) {
    const char c = at[i];
    const char lower = static_cast<char>(c | 0x20);
    if (is_digit(c))
      value = value * 16 + static_cast<std::uint32_t>(c - '0');
    else if (lower >= 'a' && lower <= 'f')
      value = value * 16 + static_cast<std::uint32_t>(lower - 'a' + 10);
    else
      return std::nullopt;
  }
  return value;
}

void append_utf8(std::string& out, std::uint32_t code) {
  const auto push = [&out](std::uint32_t byte) { out.push_back(static_cast<char>(byte)); };
  if (code < 0x80) {
    push(code);
  } else if (code < 0x800) {
    push(0xc0 | code >> 6), push(0x80 | (code & 0x3f));
  } else if (code < 0x10000) {
    push(0xe0 | code >> 12), push(0x80 | (code >> 6 & 0x3f)), push(0x80 | (code & 0x3f));
  } else {
    push(0xf0 | code >> 18), push(0x80 | (code >> 12 & 0x3f));
    push(0x80 | (code >> 6 & 0x3f)), push(0x80 | (code & 0x3f));
  }
}

}  // namespace

JsonReader::Kind JsonReader::kind() {
  skip_space();
  if (at_ == end_) return Kind::kNothing;
  switch (*at_) {
    case '{':
      return Kind::kObject;
    case '[':
      return Kind::kArray;
    case '"':
      return Kind::kString;
    case 't':
    case 'f':
      return Kind::kBoolean;
    case 'n':
      return Kind::kNull;
    default:
      return is_digit(*at_) || *at_ == '-' ? Kind::kNumber : Kind::kNothing;
  }
}

bool JsonReader::enter(char bracket) {
  skip_space();
  if (!take(bracket)) return fail(bracket == '{' ? "expected an object" : "expected an array"), false;
  if (depth_ == kJsonDepthMax) return fail("nested too deeply"), false;
  first_ |= 1u << ++depth_;
  return true;
}

bool JsonReader::next(char closing) {
  if (!ok()) return false;
  assert(depth_ > 0);
  const std::uint32_t bit = 1u << depth_;
  const bool first = (first_ & bit) != 0;
  first_ &= ~bit;
  skip_space();
  if (take(closing)) {
    --depth_;
    return false;
  }
  if (first || take(',')) return true;
  fail(closing == '}' ? "expected a comma or }" : "expected a comma or ]");
  return false;
}

bool JsonReader::next_member(std::string_view& name) {
  if (!next('}')) return false;
  skip_space();
  if (at_ == end_ || *at_ != '"') return fail("expected a member's name in quotes"), false;
  name_at_ = at_;
  name = string();
  skip_space();
  if (ok() && !take(':')) fail("expected a colon");
  return ok();
}

std::string_view JsonReader::string() {
  skip_space();
  if (!take('"')) return fail("expected a string"), std::string_view();
  const char* const begin = at_;
  at_ = plain_end(at_, end_);
  if (at_ != end_ && *at_ == '"') [[likely]]
    return {begin, static_cast<std::size_t>(at_++ - begin)};
  return string_with_escapes(begin);
}

// The same for strings with escapes or non-ASCII characters.
std::string_view JsonReader::string_with_escapes(const char* begin) {
  bool escaped = false;
  while (at_ != end_ && *at_ != '"') {
    if (static_cast<unsigned char>(*at_) < 0x20)
      return fail("control character in a string"), std::string_view();
    if (*at_ == '\\') {
      escaped = true;
      if (++at_ == end_) break;
    }
    at_ = plain_end(at_ + 1, end_);
  }
  if (at_ == end_) return fail("unfinished string"), std::string_view();
  const std::string_view raw(begin, static_cast<std::size_t>(at_ - begin));
  if (!is_utf8(raw)) return fail("a string is not UTF-8"), std::string_view();
  ++at_;
  if (!escaped) return raw;
  if (!scratch_begun_) {
    // Unescaping never makes a string longer, so this never moves views that were returned before.
    scratch_.clear();
    scratch_.reserve(static_cast<std::size_t>(end_ - begin_));
    scratch_begun_ = true;
  }
  const std::size_t start = scratch_.size();
  unescape(raw);
  return ok() ? std::string_view(scratch_).substr(start) : std::string_view();
}

void JsonReader::unescape(std::string_view raw) {
  const char* at = raw.data();
  const char* const end = at + raw.size();
  while (at != end) {
    if (*at != '\\') {
      scratch_.push_back(*at++);
      continue;
    }
    ++at;  // never the last one: the quote that ended the string was not escaped
    switch (const char c = *at++) {
      case '"':
      case '\\':
      case '/':
        scratch_.push_back(c);
        break;
      case 'b':
        scratch_.push_back('\b');
        break;
      case 'f':
        scratch_.push_back('\f');
        break;
      case 'n':
        scratch_.push_back('\n');
        break;
      case 'r':
        scratch_.push_back('\r');
        break;
      case 't':
        scratch_.push_back('\t');
        break;
      case 'u':
        if (unescape_unicode(at, end)) break;
        return fail("malformed \\u escape");
      default:
        return fail("unknown escape in a string");
    }
  }
}

// Reads the four digits after \u, and the low half of a surrogate pair.
bool JsonReader::unescape_unicode(const char*& at, const char* end) {
  const auto high = hex4(at, end);
  if (!high || (*high >= 0xdc00 && *high < 0xe000)) return false;
  at += 4;
  std::uint32_t code = *high;
  if (code >= 0xd800 && code < 0xdc00) {
    if (end - at < 6 || at[0] != '\\' || at[1] != 'u') return false;
    const auto low = hex4(at + 2, end);
    if (!low || *low < 0xdc00 || *low >= 0xe000) return false;
    at += 6;
    code = 0x10000 + ((code - 0xd800) << 10) + (*low - 0xdc00);
  }
  append_utf8(scratch_, code);
  return true;
}

// Skips a number; `whole` tells whether it has neither fraction nor exponent.
bool JsonReader::scan_number(bool& whole) {
  const auto digits = [this] {
    const char* const begin = at_;
    while (at_ != end_ && is_digit(*at_)) ++at_;
    return at_ != begin;
  };
  take('-');
  if (!take('0') && !digits()) return false;
  whole = true;
  if (take('.')) {
    whole = false;
    if (!digits()) return false;
  }
  if (take('e') || take('E')) {
    whole = false;
    if (!take('+')) take('-');
    if (!digits()) return false;
  }
  return true;
}

std::optional<std::int64_t> JsonReader::integer() {
  skip_space();
  const char* const begin = at_;
  bool whole = false;
  if (!scan_number(whole)) return fail("malformed number"), std::nullopt;
  std::int64_t value = 0;
  if (!whole || std::from_chars(begin, at_, value).ec != std::errc()) return std::nullopt;
  return value;
}

void JsonReader::skip_word(std::string_view word) {
  if (!std::string_view(at_, static_cast<std::size_t>(end_ - at_)).starts_with(word))
    return fail("expected a value");
  at_ += word.size();
}

std::string_view JsonReader::plain() {
  const Kind next = kind();
  const char* const begin = at_;
  if (next == Kind::kNumber || next == Kind::kBoolean || next == Kind::kNull)
    skip();
  else
    fail("expected a value");
  return ok() ? std::string_view(begin, static_cast<std::size_t>(at_ - begin)) : std::string_view();
}

void JsonReader::skip() {
  std::string_view name;
  switch (kind()) {
    case Kind::kObject:
      if (enter_object())
        while (next_member(name)) skip();
      return;
    case Kind::kArray:
      if (enter_array())
        while (next_element()) skip();
      return;
    case Kind::kString:
      string();
      return;
    case Kind::kNumber:
      integer();
      return;
    case Kind::kBoolean:
      return skip_word(*at_ == 't' ? "true" : "false");
    case Kind::kNull:
      return skip_word("null");
    case Kind::kNothing:
      return fail("expected a value");
  }
}

bool JsonReader::finish() {
  if (!ok()) return false;
  assert(depth_ == 0);
  skip_space();
  if (at_ != end_) fail("unexpected text after the end of the JSON");
  return ok();
}

std::string JsonReader::error() const {
  assert(!ok());
  return "malformed JSON at byte " + std::to_string(problem_offset()) + ": " + problem_;
}

}  // namespace sluice

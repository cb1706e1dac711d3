#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/limits.h"

namespace sluice {

// Walks through a JSON text (RFC 8259, strictly) without building a tree. Strings are views into the text, or
// into `scratch` if they contain escapes; both must stay unchanged while the views are used. Not thread-safe.
//
//   JsonReader reader(body, scratch);
//   if (reader.enter_object())
//     for (std::string_view name; reader.next_member(name);) {
//       if (name == "key" && reader.kind() == JsonReader::Kind::kString) key = reader.string();
//       else reader.skip();
//     }
//   if (!reader.finish()) return malformed(reader.error());   // REQUIRED: every walk ends at an error, too
//
// Each member or element must be consumed (read, entered or skipped) before moving to the next.
class JsonReader {
 public:
  enum class Kind : std::uint8_t { kObject, kArray, kString, kNumber, kBoolean, kNull, kNothing };

  JsonReader(std::string_view text, std::string& scratch)
      : begin_(text.data()), at_(begin_), end_(begin_ + text.size()), scratch_(scratch) {}

  // The kind of the next value, judged by its first character; kNothing if no value starts here.
  Kind kind();

  // Steps into the next object or array; false (and an error) if the next value is something else.
  bool enter_object() { return enter('{'); }
  bool enter_array() { return enter('['); }
  // Moves to the next member and reads its name, or steps out of the object and returns false.
  bool next_member(std::string_view& name);
  bool next_element() { return next(']'); }

  std::string_view string();
  // The next number, if it is written as an integer and fits; nothing if it is another number.
  std::optional<std::int64_t> integer();
  // The next number, true, false or null, as written.
  std::string_view plain();
  // Skips any value, but validates it like the rest.
  void skip();

  // The offset of the name that next_member() read last, and, after kind(), of the next value.
  std::size_t name_offset() const { return static_cast<std::size_t>(name_at_ - begin_); }
  std::size_t offset() const { return static_cast<std::size_t>(at_ - begin_); }

  // True if the whole text was read and was well-formed.
  bool finish();
  bool ok() const { return problem_ == nullptr; }
  // A sentence about the first error; what was expected, and where. REQUIRES, for all three: !ok().
  std::string error() const;
  const char* problem() const { return problem_; }
  std::size_t problem_offset() const { return static_cast<std::size_t>(problem_at_ - begin_); }

 private:
  void skip_space() {
    while (at_ != end_ && (*at_ == ' ' || *at_ == '\n' || *at_ == '\r' || *at_ == '\t')) ++at_;
  }
  bool take(char c) {
    if (at_ == end_ || *at_ != c) return false;
    ++at_;
    return true;
  }
  void fail(const char* problem) {
    if (ok()) problem_ = problem, problem_at_ = at_;
    at_ = end_;
  }
  bool enter(char bracket);
  bool next(char closing);
  void skip_word(std::string_view word);
  std::string_view string_with_escapes(const char* begin);
  void unescape(std::string_view raw);
  bool unescape_unicode(const char*& at, const char* end);
  bool scan_number(bool& whole);

  const char* begin_;
  const char* at_;
  const char* end_;
  const char* name_at_ = begin_;
  std::string& scratch_;
  std::size_t depth_ = 0;
  std::uint32_t first_ = 0;  // bit d: no member has been read yet at depth d
  static_assert(kJsonDepthMax < 32);
  const char* problem_ = nullptr;
  const char* problem_at_ = nullptr;
  bool scratch_begun_ = false;
};

}  // namespace sluice

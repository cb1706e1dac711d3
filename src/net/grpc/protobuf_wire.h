#pragma once

#include <bit>
#include <cassert>
#include <charconv>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>

#include "base/text/utf8.h"

// The protobuf wire format, reduced to what a service with known messages needs. Reading copies nothing and
// writing appends to a string, so a message costs no allocation. If a message's shape is known only at run
// time, use libprotobuf instead.
//
//   WireReader reader(bytes);
//   while (reader.next()) {
//     switch (reader.field()) {
//       case 1: request.policy_id = reader.string(); break;
//       case 3: request.cost = reader.int32(); break;
//     }                                   // unknown fields are skipped, groups included
//   }
//   if (!reader.ok()) return malformed;   // REQUIRED: next() returns false at the end and at an error alike
//
//   WireWriter writer(out);
//   writer.boolean(1, answer.allowed);    // as in proto3, a zero or empty value is omitted
//   const auto quota = writer.begin_message(6);
//   writer.string(1, "burst");
//   writer.end_message(quota);
namespace sluice::net {

enum class WireType : std::uint8_t {
  kVarint = 0,
  kFixed64 = 1,
  kBytes = 2,
  kGroupBegin = 3,
  kGroupEnd = 4,
  kFixed32 = 5,
};

// True if all bytes are ASCII. Loads overlap, so that no length needs a loop over single bytes.
inline bool is_ascii(std::string_view bytes) {
  const char* const at = bytes.data();
  const std::size_t size = bytes.size();
  const auto load = [at]<class Word>(std::size_t i, Word word) {
    std::memcpy(&word, at + i, sizeof(word));
    return std::uint64_t{word};
  };
  std::uint64_t bits = 0;
  if (size >= 8) {
    for (std::size_t i = 0; i + 8 < size; i += 8) bits |= load(i, std::uint64_t{});
    bits |= load(size - 8, std::uint64_t{});
  } else if (size >= 4) {
    bits = load(0, std::uint32_t{}) | load(size - 4, std::uint32_t{});
  } else if (size != 0) {
    bits = load(0, std::uint8_t{}) | load(size / 2, std::uint8_t{}) | load(size - 1, std::uint8_t{});
  }
  return (bits & 0x8080808080808080u) == 0;
}

// Iterates over the fields of one message. Every view it returns points into the input. Malformed input
// (truncation, varints over 64 bits, field number 0, stray group ends, groups nested too deep) and a field
// read as the wrong type end the iteration and make ok() false. Not thread-safe.
class WireReader {
 public:
  explicit WireReader(std::string_view bytes) : at_(bytes.data()), end_(bytes.data() + bytes.size()) {}

  // Moves to the next field, skipping groups. False at the end or after an error.
  bool next();
  bool ok() const { return ok_; }

  std::uint32_t field() const { return field_; }
  WireType type() const { return type_; }

  // The current field's value. If the type is wrong, it is zero or empty, and ok() becomes false. As protobuf
  // requires, 32-bit readers keep the low 32 bits, and an enum may hold a number that its type does not know.
  std::uint64_t uint64() { return expect(WireType::kVarint) ? number_ : 0; }
  std::int64_t int64() { return static_cast<std::int64_t>(uint64()); }
  std::uint32_t uint32() { return static_cast<std::uint32_t>(uint64()); }
  std::int32_t int32() { return static_cast<std::int32_t>(uint32()); }
  bool boolean() { return uint64() != 0; }
  std::uint64_t fixed64() { return expect(WireType::kFixed64) ? number_ : 0; }
  std::uint32_t fixed32() { return expect(WireType::kFixed32) ? static_cast<std::uint32_t>(number_) : 0; }
  std::string_view bytes() { return expect(WireType::kBytes) ? bytes_ : std::string_view(); }
  // A proto3 string: must be UTF-8.
  std::string_view string() {
    const std::string_view value = bytes();
    if (!is_ascii(value) && !is_utf8(value)) return fail(), std::string_view();
    return value;
  }
  // A nested message. The caller must check that reader's ok() too.
  WireReader message() { return WireReader(bytes()); }

 private:
  void fail() {
    ok_ = false;
    at_ = end_;
  }
  bool expect(WireType type) {
    if (type_ == type) [[likely]]
      return true;
    fail();
    return false;
  }
  bool read_short_bytes();
  bool read_varint(std::uint64_t& value);
  bool read_tag(std::uint32_t& field, WireType& type);
  bool read_value(WireType type);
  bool skip_group(std::uint32_t field);

  const char* at_;
  const char* end_;
  std::uint64_t number_ = 0;
  std::string_view bytes_;
  std::uint32_t field_ = 0;
  WireType type_ = WireType::kVarint;
  bool ok_ = true;
};

// Writes fields, in the order of the calls, into a buffer that is known to be large enough. Not thread-safe.
class WireCursor {
 public:
  // Enough for a number with its tag, or for the tag and length of a text.
  static constexpr std::size_t kFieldRoom = 15;

  explicit WireCursor(char* at) : at_(at) {}
  char* at() const { return at_; }

  void uint64(std::uint32_t field, std::uint64_t value) {
    if (value != 0) present_uint64(field, value);
  }
  // Negative numbers take ten bytes, as protobuf's int32 and int64 do.
  void int64(std::uint32_t field, std::int64_t value) { uint64(field, static_cast<std::uint64_t>(value)); }
  void int32(std::uint32_t field, std::int32_t value) { int64(field, value); }
  void boolean(std::uint32_t field, bool value) { uint64(field, value ? 1 : 0); }
  void string(std::uint32_t field, std::string_view value) {
    if (!value.empty()) element(field, value);
  }
  // An element of a repeated string or bytes field, an already encoded message, or an `optional` one:
  // written even when it is empty.
  void element(std::uint32_t field, std::string_view value) {
    tag(field, WireType::kBytes);
    varint(value.size());
    at_ += value.copy(at_, value.size());
  }
  // A number of an `optional` field: written even when it is zero.
  void present_uint64(std::uint32_t field, std::uint64_t value) {
    tag(field, WireType::kVarint);
    varint(value);
  }

  // A double; as in proto3, 0 is omitted, but -0 is not.
  void float64(std::uint32_t field, double value) {
    if (std::bit_cast<std::uint64_t>(value) != 0) present_float64(field, value);
  }
  void present_float64(std::uint32_t field, double value) {
    static_assert(std::endian::native == std::endian::little);
    tag(field, WireType::kFixed64);
    std::memcpy(at_, &value, sizeof value);
    at_ += sizeof value;
  }

  // What is written between the two calls becomes a nested message or a text. Pairs may nest.
  char* begin_message(std::uint32_t field) {
    tag(field, WireType::kBytes);
    return ++at_;
  }
  // A piece of a text.
  void bytes(std::string_view piece) { at_ += piece.copy(at_, piece.size()); }
  void digits(std::int64_t number) { at_ = std::to_chars(at_, at_ + 20, number).ptr; }
  void end_message(char* begin) {
    const auto size = static_cast<std::size_t>(at_ - begin);
    if (size < 0x80) [[likely]]
      begin[-1] = static_cast<char>(size);
    else
      at_ = make_room_for_length(begin, size);
  }

 private:
  void tag(std::uint32_t field, WireType type) {
    assert(field >= 1 && field < (1u << 29));
    varint(std::uint64_t{field} << 3 | static_cast<std::uint64_t>(type));
  }
  void varint(std::uint64_t value) {
    while (value >= 0x80) {
      *at_++ = static_cast<char>(value | 0x80);
      value >>= 7;
    }
    *at_++ = static_cast<char>(value);
  }
  // Inserts a length of several bytes before a message, and returns the message's new end. Static: a cursor
  // whose address is never taken stays in a register.
  static char* make_room_for_length(char* begin, std::size_t size);

  char* at_;
};

// Calls `write` with a cursor over `room` spare bytes at the end of `out`, and keeps what it wrote: one
// growth check for a whole message. REQUIRES: `write` stays within the room.
template <class Write>
void append_wire(std::string& out, std::size_t room, Write&& write) {
  const std::size_t before = out.size();
  out.resize_and_overwrite(before + room, [&](char* bytes, std::size_t) {
    WireCursor cursor(bytes + before);
    write(cursor);
    assert(cursor.at() <= bytes + before + room);
    return static_cast<std::size_t>(cursor.at() - bytes);
  });
}

// Appends fields to a string that grows as needed. Not thread-safe. If the size of a message is known
// beforehand, append_wire() is faster.
class WireWriter {
 public:
  explicit WireWriter(std::string& out) : out_(out) {}

  void uint64(std::uint32_t field, std::uint64_t value) {
    append(0, [&](WireCursor& cursor) { cursor.uint64(field, value); });
  }
  void int64(std::uint32_t field, std::int64_t value) { uint64(field, static_cast<std::uint64_t>(value)); }
  void int32(std::uint32_t field, std::int32_t value) { int64(field, value); }
  void boolean(std::uint32_t field, bool value) { uint64(field, value ? 1 : 0); }
  void string(std::uint32_t field, std::string_view value) {
    if (!value.empty()) element(field, value);
  }
  void element(std::uint32_t field, std::string_view value) {
    append(value.size(), [&](WireCursor& cursor) { cursor.element(field, value); });
  }
  void present_uint64(std::uint32_t field, std::uint64_t value) {
    append(0, [&](WireCursor& cursor) { cursor.present_uint64(field, value); });
  }

  void float64(std::uint32_t field, double value) {
    append(0, [&](WireCursor& cursor) { cursor.float64(field, value); });
  }
  void present_float64(std::uint32_t field, double value) {
    append(0, [&](WireCursor& cursor) { cursor.present_float64(field, value); });
  }

  // What is written between the two calls becomes a nested message or a text. Pairs may nest.
  std::size_t begin_message(std::uint32_t field) {
    append(0, [&](WireCursor& cursor) { cursor.begin_message(field); });
    return out_.size();
  }
  void end_message(std::size_t begin) {
    assert(begin >= 1 && begin <= out_.size());
    const std::size_t size = out_.size() - begin;
    out_.resize_and_overwrite(out_.size() + WireCursor::kFieldRoom, [&](char* bytes, std::size_t) {
      WireCursor cursor(bytes + begin + size);
      cursor.end_message(bytes + begin);
      return static_cast<std::size_t>(cursor.at() - bytes);
    });
  }

 private:
  template <class Write>
  void append(std::size_t text_bytes, Write&& write) {
    append_wire(out_, WireCursor::kFieldRoom + text_bytes, write);
  }

  std::string& out_;
};

inline bool WireReader::read_varint(std::uint64_t& value) {
  if (at_ != end_ && static_cast<unsigned char>(*at_) < 0x80) [[likely]] {  // nearly all tags and lengths
    value = static_cast<unsigned char>(*at_++);
    return true;
  }
  std::uint64_t result = 0;
  for (int shift = 0; shift < 70 && at_ != end_; shift += 7) {
    const auto byte = static_cast<unsigned char>(*at_++);
    if (shift == 63 && byte > 1) return false;  // the tenth byte has room for one bit
    result |= std::uint64_t{byte & 0x7fu} << shift;
    if (byte < 0x80) {
      value = result;
      return true;
    }
  }
  return false;
}

inline bool WireReader::read_tag(std::uint32_t& field, WireType& type) {
  std::uint64_t tag = 0;
  if (!read_varint(tag) || tag > 0xffffffffu) return false;
  field = static_cast<std::uint32_t>(tag >> 3);
  type = static_cast<WireType>(tag & 7);
  return field != 0 && (tag & 7) <= 5;
}

inline bool WireReader::read_value(WireType type) {
  const auto left = static_cast<std::size_t>(end_ - at_);
  switch (type) {
    case WireType::kVarint:
      return read_varint(number_);
    case WireType::kBytes: {
      std::uint64_t size = 0;
      if (!read_varint(size) || size > static_cast<std::uint64_t>(end_ - at_)) return false;
      bytes_ = std::string_view(at_, static_cast<std::size_t>(size));
      at_ += size;
      return true;
    }
    case WireType::kFixed64:
      if (left < 8) return false;
      std::memcpy(&number_, at_, 8);
      at_ += 8;
      return true;
    case WireType::kFixed32: {
      if (left < 4) return false;
      std::uint32_t number = 0;
      std::memcpy(&number, at_, 4);
      number_ = number;
      at_ += 4;
      return true;
    }
    case WireType::kGroupBegin:
    case WireType::kGroupEnd:
      break;
  }
  return false;
}

// Reads a text or message below 128 bytes in one of the first fifteen fields, as nearly all are: one byte for
// the tag, one for the length. Returns false for anything else; then nothing was read.
inline bool WireReader::read_short_bytes() {
  if (end_ - at_ < 2) return false;
  const auto tag = static_cast<unsigned char>(at_[0]), size = static_cast<unsigned char>(at_[1]);
  constexpr unsigned kOneByteBytes = 0x87;  // the bits of the type, and the continuation bit
  if ((tag & kOneByteBytes) != static_cast<unsigned>(WireType::kBytes) || tag < 8 || size >= 0x80 ||
      size > end_ - at_ - 2)
    return false;
  field_ = tag >> 3;
  type_ = WireType::kBytes;
  bytes_ = std::string_view(at_ + 2, size);
  at_ += 2 + size;
  return true;
}

inline bool WireReader::next() {
  if (read_short_bytes()) [[likely]]
    return true;
  while (at_ != end_) {
    bool good = read_tag(field_, type_);
    if (good && type_ == WireType::kGroupBegin) {
      if (skip_group(field_)) continue;
      good = false;
    }
    if (good && read_value(type_)) [[likely]]
      return true;
    fail();
  }
  return false;
}

}  // namespace sluice::net

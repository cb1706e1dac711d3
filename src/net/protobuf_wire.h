#pragma once

#include <cassert>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>

// The protobuf wire format, as little of it as a service with known messages needs. Reading copies nothing
// and writing appends to a string, so a message costs no allocation. Where a message's shape is only known at
// run time, use libprotobuf instead.
//
//   WireReader reader(bytes);
//   while (reader.next()) {
//     switch (reader.field()) {
//       case 1: request.policy_id = reader.string(); break;
//       case 3: request.cost = reader.int32(); break;
//     }                                   // fields nobody asks for are skipped, groups included
//   }
//   if (!reader.ok()) return malformed;   // REQUIRED: next() returns false at the end and at an error alike
//
//   WireWriter writer(out);
//   writer.boolean(1, answer.allowed);    // as in proto3, a zero or empty value is left out
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

// True if the bytes are UTF-8 without surrogates, overlong forms or values above U+10FFFF.
bool is_utf8(std::string_view bytes);

// Walks through the fields of one message. Every view it returns points into the bytes it was given.
// Malformed input (truncation, varints over 64 bits, field number 0, stray group ends, groups nested too
// deep) and a field read as the wrong type end the walk and make ok() false. Not thread-safe.
class WireReader {
 public:
  explicit WireReader(std::string_view bytes) : at_(bytes.data()), end_(bytes.data() + bytes.size()) {}

  // Moves to the next field, skipping groups. False at the end or after an error.
  bool next();
  bool ok() const { return ok_; }

  std::uint32_t field() const { return field_; }
  WireType type() const { return type_; }

  // The current field's value. The wrong type gives zero or nothing, and ok() becomes false. As protobuf
  // demands, 32-bit readers keep the low 32 bits and an enum may hold a number that its type doesn't know.
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
    if (!is_utf8(value)) return fail(), std::string_view();
    return value;
  }
  // A message inside this one. Whoever reads it must look at that reader's ok() too.
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

// Appends fields to a string, in the order of the calls. Not thread-safe.
class WireWriter {
 public:
  explicit WireWriter(std::string& out) : out_(out) {}

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
    append(2 * kVarintBytesMax + value.size(), [&](char* at) {
      at = put_varint(at, tag(field, WireType::kBytes));
      at = put_varint(at, value.size());
      std::memcpy(at, value.data(), value.size());
      return at + value.size();
    });
  }
  // A number of an `optional` field: written even when it is zero.
  void present_uint64(std::uint32_t field, std::uint64_t value) {
    append(2 * kVarintBytesMax, [&](char* at) {
      at = put_varint(at, tag(field, WireType::kVarint));
      return put_varint(at, value);
    });
  }

  // What is written between the two calls becomes a message inside this one. Pairs may nest.
  std::size_t begin_message(std::uint32_t field) {
    append(kVarintBytesMax + 1, [&](char* at) {
      at = put_varint(at, tag(field, WireType::kBytes));
      *at++ = 0;
      return at;
    });
    return out_.size();
  }
  void end_message(std::size_t begin);

 private:
  static constexpr std::size_t kVarintBytesMax = 10;

  static std::uint64_t tag(std::uint32_t field, WireType type) {
    assert(field >= 1 && field < (1u << 29));
    return std::uint64_t{field} << 3 | static_cast<std::uint64_t>(type);
  }
  static char* put_varint(char* at, std::uint64_t value) {
    while (value >= 0x80) {
      *at++ = static_cast<char>(value | 0x80);
      value >>= 7;
    }
    *at++ = static_cast<char>(value);
    return at;
  }
  // Lets `write` put bytes behind the text and return where it ended. One growth check for a whole field: a
  // push_back() for each byte made an answer three times as dear.
  template <class Write>
  void append(std::size_t room, Write write) {
    const std::size_t before = out_.size();
    out_.resize_and_overwrite(before + room, [&](char* text, std::size_t) {
      return static_cast<std::size_t>(write(text + before) - text);
    });
  }

  std::string& out_;
};

inline bool WireReader::read_varint(std::uint64_t& value) {
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

inline bool WireReader::next() {
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

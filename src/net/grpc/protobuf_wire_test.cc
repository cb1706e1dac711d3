#include "net/grpc/protobuf_wire.h"

#include <gtest/gtest.h>

#include <memory>
#include <random>
#include <string>

#include "base/testing/seed.h"

namespace sluice::net {
namespace {

using namespace std::literals;

// Reads every field, whatever its type; true if the message is well formed.
bool walk(std::string_view bytes) {
  WireReader reader(bytes);
  while (reader.next()) {
  }
  return reader.ok();
}

TEST(WireReader, reads_back_what_the_writer_wrote) {
  std::string out;
  WireWriter writer(out);
  writer.string(1, "policy");
  writer.int32(2, -7);
  writer.int64(3, 1LL << 60);
  writer.boolean(4, true);
  const auto outer = writer.begin_message(5);
  writer.string(1, std::string(300, 'x'));
  const auto inner = writer.begin_message(2);
  writer.uint64(1, 9);
  writer.end_message(inner);
  writer.end_message(outer);
  writer.element(6, "");

  WireReader reader(out);
  ASSERT_TRUE(reader.next());
  EXPECT_EQ(reader.field(), 1u);
  EXPECT_EQ(reader.string(), "policy");
  ASSERT_TRUE(reader.next());
  EXPECT_EQ(reader.int32(), -7);
  ASSERT_TRUE(reader.next());
  EXPECT_EQ(reader.int64(), 1LL << 60);
  ASSERT_TRUE(reader.next());
  EXPECT_TRUE(reader.boolean());
  ASSERT_TRUE(reader.next());
  EXPECT_EQ(reader.field(), 5u);
  WireReader message = reader.message();
  ASSERT_TRUE(message.next());
  EXPECT_EQ(message.string(), std::string(300, 'x'));
  ASSERT_TRUE(message.next());
  WireReader leaf = message.message();
  ASSERT_TRUE(leaf.next());
  EXPECT_EQ(leaf.uint64(), 9u);
  EXPECT_FALSE(message.next());
  EXPECT_TRUE(message.ok());
  ASSERT_TRUE(reader.next());
  EXPECT_EQ(reader.field(), 6u);
  EXPECT_EQ(reader.bytes(), "");
  EXPECT_FALSE(reader.next());
  EXPECT_TRUE(reader.ok());
}

TEST(WireWriter, leaves_out_zero_values_unless_told_otherwise) {
  std::string out;
  WireWriter writer(out);
  writer.int32(1, 0);
  writer.boolean(2, false);
  writer.string(3, "");
  writer.float64(4, 0);
  EXPECT_EQ(out, "");
  writer.present_uint64(1, 0);
  EXPECT_EQ(out, "\x08\x00"s);
  out.clear();
  writer.present_float64(4, 0);
  EXPECT_EQ(out, "\x21\0\0\0\0\0\0\0\0"s);
}

TEST(WireWriter, doubles_are_eight_bytes_the_lowest_first) {
  std::string out;
  WireWriter writer(out);
  writer.float64(4, -2.5);
  EXPECT_EQ(out, "\x21\0\0\0\0\0\0\x04\xc0"s);
  out.clear();
  writer.float64(4, -0.0);
  EXPECT_EQ(out, "\x21\0\0\0\0\0\0\0\x80"s);
}

TEST(WireReader, table_of_good_and_bad_bytes) {
  const struct {
    const char* why;
    std::string bytes;
    bool good;
  } rows[] = {
      {"empty message", "", true},
      {"largest varint", "\x08\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01"s, true},
      {"overlong but legal varint", "\x08\x81\x00"s, true},
      {"fixed64", "\x09"s + std::string(8, '\1'), true},
      {"fixed32", "\x0d"s + std::string(4, '\1'), true},
      {"empty group is skipped", "\x0b\x0c"s, true},
      {"group with fields, then a field", "\x0b\x10\x05\x1a\x01x\x0c\x08\x01"s, true},
      {"nested groups", "\x0b\x13\x14\x0c"s, true},
      {"varint of 65 bits", "\x08\xff\xff\xff\xff\xff\xff\xff\xff\xff\x02"s, false},
      {"varint of eleven bytes", "\x08\x80\x80\x80\x80\x80\x80\x80\x80\x80\x80\x01"s, false},
      {"varint cut off", "\x08\x80"s, false},
      {"value missing", "\x08"s, false},
      {"length beyond the end", "\x0a\x05hell"s, false},
      {"huge length", "\x0a\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01x"s, false},
      {"fixed64 cut off", "\x09\x01\x01"s, false},
      {"fixed32 cut off", "\x0d\x01\x01\x01"s, false},
      {"field number zero", "\x00\x01"s, false},
      {"wire type 6", "\x0e\x01"s, false},
      {"wire type 7", "\x0f\x01"s, false},
      {"tag over 32 bits", "\x88\x80\x80\x80\x80\x01\x01"s, false},
      {"group never ends", "\x0b\x10\x05"s, false},
      {"group ends another field", "\x0b\x14"s, false},
      {"group end without begin", "\x0c"s, false},
      {"groups too deep", std::string(10'000, '\x0b'), false},
  };
  for (const auto& row : rows) EXPECT_EQ(walk(row.bytes), row.good) << row.why;
}

TEST(WireReader, a_field_of_the_wrong_type_is_an_error) {
  WireReader reader("\x08\x01\x10\x02"sv);
  ASSERT_TRUE(reader.next());
  EXPECT_EQ(reader.string(), "");
  EXPECT_FALSE(reader.ok());
  EXPECT_FALSE(reader.next());
}

TEST(WireReader, strings_must_be_utf8_and_bytes_need_not) {
  const std::string message = "\x0a\x02\xc3\x28"s;
  WireReader as_bytes(message);
  ASSERT_TRUE(as_bytes.next());
  EXPECT_EQ(as_bytes.bytes(), "\xc3\x28");
  EXPECT_TRUE(as_bytes.ok());
  WireReader as_string(message);
  ASSERT_TRUE(as_string.next());
  EXPECT_EQ(as_string.string(), "");
  EXPECT_FALSE(as_string.ok());
}

TEST(WireReader, random_bytes_never_read_outside) {
  const std::uint64_t seed = test_seed();
  SCOPED_TRACE("SLUICE_SEED=" + std::to_string(seed));
  std::mt19937 random(static_cast<unsigned>(seed));
  for (int round = 0; round < 20'000; ++round) {
    std::string bytes(random() % 40, '\0');
    for (char& byte : bytes) byte = static_cast<char>(random() % 3 ? random() % 32 : random());
    // A heap copy of the exact size lets the address sanitizer detect an overrun of a single byte.
    const std::unique_ptr<char[]> copy(new char[bytes.size()]);
    std::copy(bytes.begin(), bytes.end(), copy.get());
    WireReader reader(std::string_view(copy.get(), bytes.size()));
    while (reader.next()) {
      if (reader.type() != WireType::kBytes) continue;
      const std::string_view value = reader.bytes();
      EXPECT_TRUE(value.data() >= copy.get() && value.data() + value.size() <= copy.get() + bytes.size());
    }
  }
}

TEST(IsAscii, finds_a_foreign_byte_at_every_place_of_every_length) {
  for (std::size_t size = 0; size <= 40; ++size) {
    std::string text(size, '~');
    EXPECT_TRUE(is_ascii(text)) << size;
    for (std::size_t i = 0; i < size; ++i) {
      text[i] = '\x80';
      EXPECT_FALSE(is_ascii(text)) << size << ", " << i;
      text[i] = '~';
    }
  }
}

TEST(AppendWire, writes_what_the_writer_writes) {
  for (const std::size_t size : {0u, 1u, 100u, 126u, 127u, 128u, 20'000u}) {
    const std::string text(size, 'x');
    const auto write = [&](auto& to) {
      to.boolean(1, true);
      const auto outer = to.begin_message(6);
      to.string(1, text);
      const auto inner = to.begin_message(2);
      to.element(3, text);
      to.int64(4, -1);
      to.end_message(inner);
      to.uint64(200, 300);
      to.end_message(outer);
    };
    std::string by_writer = "before";
    std::string by_cursor = "before";
    WireWriter writer(by_writer);
    write(writer);
    append_wire(by_cursor, 7 * WireCursor::kFieldRoom + 2 * size, write);
    EXPECT_EQ(by_cursor, by_writer) << size;
  }
}

}  // namespace
}  // namespace sluice::net

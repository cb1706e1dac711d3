#include "net/grpc/grpc_text.h"

#include <gtest/gtest.h>

namespace sluice::net {
namespace {

using namespace std::literals;

TEST(GrpcTimeout, table) {
  const struct {
    std::string_view text;
    std::optional<std::int64_t> us;
  } rows[] = {
      {"1H", 3'600'000'000},
      {"2M", 120'000'000},
      {"3S", 3'000'000},
      {"250m", 250'000},
      {"7u", 7},
      {"1n", 1},
      {"1000n", 1},
      {"1001n", 2},
      {"0m", 0},
      {"99999999H", 99'999'999LL * 3'600'000'000},
      {"", std::nullopt},
      {"5", std::nullopt},
      {"m", std::nullopt},
      {"123456789S", std::nullopt},
      {"-1S", std::nullopt},
      {"1.5S", std::nullopt},
      {"1s", std::nullopt},
      {" 1S", std::nullopt},
  };
  for (const auto& row : rows) EXPECT_EQ(parse_grpc_timeout_us(row.text), row.us) << row.text;
}

TEST(PercentEncoding, keeps_printable_ascii_and_encodes_the_rest) {
  std::string out;
  append_percent_encoded(out, "limit 100% r\xc3\xa4ised\n");
  EXPECT_EQ(out, "limit 100%25 r%C3%A4ised%0A");
}

TEST(Base64, encodes_without_padding_and_decodes_with_or_without) {
  const struct {
    std::string plain, bare, padded;
  } rows[] = {{"", "", ""},
              {"f", "Zg", "Zg=="},
              {"fo", "Zm8", "Zm8="},
              {"foo", "Zm9v", "Zm9v"},
              {"\x00\xff\x10"s, "AP8Q", "AP8Q"},
              {"foobar", "Zm9vYmFy", "Zm9vYmFy"}};
  for (const auto& row : rows) {
    std::string encoded, from_bare, from_padded;
    append_base64(encoded, row.plain);
    EXPECT_EQ(encoded, row.bare);
    EXPECT_TRUE(append_base64_decoded(from_bare, row.bare));
    EXPECT_EQ(from_bare, row.plain);
    EXPECT_TRUE(append_base64_decoded(from_padded, row.padded));
    EXPECT_EQ(from_padded, row.plain);
  }
}

TEST(Base64, refuses_what_it_is_not) {
  for (const std::string_view text : {"A", "A===", "Zm9v!", "Zg=", "====", "Z g=", "Zm9vA"}) {
    std::string out;
    EXPECT_FALSE(append_base64_decoded(out, text)) << text;
  }
}

TEST(GrpcPrefix, is_a_flag_and_a_big_endian_length) {
  char bytes[kGrpcPrefixBytes];
  write_grpc_prefix(bytes, {true, 0x01020304});
  EXPECT_EQ(std::string_view(bytes, sizeof(bytes)), "\x01\x01\x02\x03\x04"sv);
  const auto prefix = read_grpc_prefix(std::string_view(bytes, sizeof(bytes)));
  ASSERT_TRUE(prefix);
  EXPECT_TRUE(prefix->compressed);
  EXPECT_EQ(prefix->length, 0x01020304u);
  EXPECT_FALSE(read_grpc_prefix("\x02\x00\x00\x00\x00"sv));
}

}  // namespace
}  // namespace sluice::net

#include "net/grpc/grpc_text.h"

#include <array>
#include <cassert>

namespace sluice::net {
namespace {

constexpr std::string_view kBase64 = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

constexpr std::array<signed char, 256> kBase64Value = [] {
  std::array<signed char, 256> table{};
  table.fill(-1);
  for (std::size_t i = 0; i < kBase64.size(); ++i)
    table[static_cast<unsigned char>(kBase64[i])] = static_cast<signed char>(i);
  return table;
}();

}  // namespace

std::optional<GrpcPrefix> read_grpc_prefix(std::string_view bytes) {
  assert(bytes.size() >= kGrpcPrefixBytes);
  const auto byte = [&](std::size_t i) { return std::uint32_t{static_cast<unsigned char>(bytes[i])}; };
  if (byte(0) > 1) return std::nullopt;
  return GrpcPrefix{byte(0) == 1, byte(1) << 24 | byte(2) << 16 | byte(3) << 8 | byte(4)};
}

void write_grpc_prefix(char* at, GrpcPrefix prefix) {
  at[0] = prefix.compressed ? 1 : 0;
  for (int i = 0; i < 4; ++i) at[1 + i] = static_cast<char>(prefix.length >> (24 - 8 * i));
}

std::optional<std::int64_t> parse_grpc_timeout_us(std::string_view text) {
  if (text.size() < 2 || text.size() > 9) return std::nullopt;
  std::int64_t number = 0;
  for (const char c : text.substr(0, text.size() - 1)) {
    if (c < '0' || c > '9') return std::nullopt;
    number = number * 10 + (c - '0');
  }
  switch (text.back()) {
    case 'H':
      return number * 3'600'000'000;
    case 'M':
      return number * 60'000'000;
    case 'S':
      return number * 1'000'000;
    case 'm':
      return number * 1'000;
    case 'u':
      return number;
    case 'n':
      return (number + 999) / 1'000;
    default:
      return std::nullopt;
  }
}

void append_percent_encoded(std::string& out, std::string_view text) {
  constexpr std::string_view kHex = "0123456789ABCDEF";
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte >= 0x20 && byte <= 0x7e && c != '%') {
      out += c;
    } else {
      out += '%';
      out += kHex[byte >> 4];
      out += kHex[byte & 15];
    }
  }
}

void append_base64(std::string& out, std::string_view bytes) {
  std::uint32_t bits = 0;
  int bit_count = 0;
  for (const char c : bytes) {
    bits = bits << 8 | static_cast<unsigned char>(c);
    bit_count += 8;
    while (bit_count >= 6) {
      bit_count -= 6;
      out += kBase64[bits >> bit_count & 63];
    }
  }
  if (bit_count > 0) out += kBase64[bits << (6 - bit_count) & 63];
}

bool append_base64_decoded(std::string& out, std::string_view text) {
  if (text.size() % 4 == 0) {
    for (int padding = 0; padding < 2 && text.ends_with('='); ++padding) text.remove_suffix(1);
  }
  if (text.size() % 4 == 1) return false;
  std::uint32_t bits = 0;
  int bit_count = 0;
  for (const char c : text) {
    const auto value = kBase64Value[static_cast<unsigned char>(c)];
    if (value < 0) return false;
    bits = bits << 6 | static_cast<std::uint32_t>(value);
    bit_count += 6;
    if (bit_count >= 8) {
      bit_count -= 8;
      out += static_cast<char>(bits >> bit_count);
    }
  }
  return true;
}

}  // namespace sluice::net

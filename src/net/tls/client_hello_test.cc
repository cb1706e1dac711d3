#include "net/tls/client_hello.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "base/limits/connection_limits.h"

namespace sluice::net {
namespace {

std::string big_endian(std::size_t value, int bytes) {
  std::string text;
  while (bytes-- > 0) text += static_cast<char>(value >> 8 * bytes);
  return text;
}

// A message of the handshake that says it has that many bytes, and has them.
std::string message(char type, std::size_t size) {
  return type + big_endian(size, 3) + std::string(size, 'h');
}

// In records of this size.
std::string records(std::string_view bytes, std::size_t size = 16u << 10) {
  std::string text;
  for (; !bytes.empty(); bytes.remove_prefix(std::min(size, bytes.size())))
    text.append("\x16\x03\x01")
        .append(big_endian(std::min(size, bytes.size()), 2))
        .append(bytes.substr(0, size));
  return text;
}

TEST(ClientHello, IsPartialUntilItsLastByte) {
  for (const std::size_t size : {1u, 200u, 3000u, 16'000u, 16'384u}) {
    for (const std::size_t record : {size / 20 + 50, std::size_t{16u << 10}}) {
      const std::string whole = records(message(1, size), record);
      for (std::size_t bytes = 0; bytes < whole.size(); ++bytes)
        ASSERT_EQ(look_at_client_hello(std::string_view(whole).substr(0, bytes)), ClientHello::kPartial);
      EXPECT_EQ(look_at_client_hello(whole), ClientHello::kWhole);
      EXPECT_EQ(look_at_client_hello(whole + std::string(50'000, 'x')), ClientHello::kWhole);
    }
  }
}

TEST(ClientHello, IsTooLongAsSoonAsItSaysSo) {
  EXPECT_EQ(look_at_client_hello(records(message(1, 131'000)).substr(0, 9)), ClientHello::kTooLong);
  EXPECT_EQ(look_at_client_hello(records(message(1, 16'385)).substr(0, 9)), ClientHello::kTooLong);
  const std::string split = records(message(1, 131'000).substr(0, 6), 1);
  EXPECT_EQ(look_at_client_hello(std::string_view(split).substr(0, 23)), ClientHello::kPartial);
  EXPECT_EQ(look_at_client_hello(std::string_view(split).substr(0, 24)), ClientHello::kTooLong);
}

TEST(ClientHello, InTooManyRecordsIsTooLong) {
  const std::string crumbs = records(message(1, 16'000), 1);
  EXPECT_EQ(look_at_client_hello(std::string_view(crumbs).substr(0, 17'000)), ClientHello::kPartial);
  EXPECT_EQ(look_at_client_hello(std::string_view(crumbs).substr(0, 18'000)), ClientHello::kTooLong);
}

TEST(ClientHello, WhatIsNoneIsForOpensslToAnswer) {
  for (const std::string& bytes :
       {std::string("GET / HTTP/1.1\r\n"), std::string(5, '\0'), records(message(2, 100)),
        records(message(1, 100)).replace(0, 1, "\x15"), records(message(1, 100)).replace(1, 1, "\x02"),
        std::string("\x16\x03\x01\x00\x00", 5), std::string("\x16\x03\x01\xff\xff"),
        records(message(1, 100)).substr(0, 50).replace(3, 2, big_endian(45, 2)) + "\x15\x03\x01\x01\x01"})
    EXPECT_EQ(look_at_client_hello(bytes), ClientHello::kWhole) << testing::PrintToString(bytes);
  EXPECT_EQ(look_at_client_hello("GET "), ClientHello::kPartial) << "it needs five bytes to know";
}

}  // namespace
}  // namespace sluice::net

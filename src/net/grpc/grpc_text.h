#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

// How gRPC encodes numbers, texts and bytes in HTTP/2 headers, and messages in a body.
namespace sluice::net {

inline constexpr std::size_t kGrpcPrefixBytes = 5;  // a compressed flag and the message's length

struct GrpcPrefix {
  bool compressed = false;
  std::uint32_t length = 0;
};

// nullopt if the flag is neither 0 nor 1. REQUIRES: at least kGrpcPrefixBytes bytes.
std::optional<GrpcPrefix> read_grpc_prefix(std::string_view bytes);

// Writes a prefix over the first bytes of `at`. REQUIRES: room for kGrpcPrefixBytes.
void write_grpc_prefix(char* at, GrpcPrefix prefix);

// "250m" is 250,000: digits (at most eight) and one of H M S m u n. Fractions are rounded up.
std::optional<std::int64_t> parse_grpc_timeout_us(std::string_view text);

// Appends the text with '%' and everything outside printable ASCII as %XX.
void append_percent_encoded(std::string& out, std::string_view text);

// Appends the bytes in base64 without padding, as gRPC prefers.
void append_base64(std::string& out, std::string_view bytes);

// Appends the decoded bytes; padding is optional. False if the text is not base64.
bool append_base64_decoded(std::string& out, std::string_view text);

}  // namespace sluice::net

#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "control/access/principal.h"
#include "document/fields.h"

// Tokens, with which API clients authenticate.
//
//   sluice_ + 32 letters and digits (160 random bits) + 6 more, a checksum
//
// The prefix lets scanners find tokens that were committed by mistake. The checksum tells a typing error from
// an unknown token. Only the hash of a token is stored; a token has so many random bits that a plain SHA-256
// is enough.
namespace sluice::control {

inline constexpr std::string_view kTokenPrefix = "sluice_";
using TokenEntropy = std::array<unsigned char, 20>;

std::string make_token(const TokenEntropy& random);
// From the operating system.
TokenEntropy token_entropy();
// Whether the text has the form of a token: prefix, length, checksum.
bool is_token(std::string_view text);
// 64 hexadecimal digits.
std::string hash_token(std::string_view token);

// The stored part of a token. Its name is that of the record.
struct Token {
  std::string name;
  std::string hash;
  std::vector<Role> roles;
  std::vector<std::string> tenants;  // patterns; empty: all
  std::int64_t expires_us = 0;       // 0: never

  bool holds_at(std::int64_t now_us) const { return expires_us == 0 || now_us < expires_us; }
  Principal principal() const { return {"token " + name, roles, tenants}; }
  friend bool operator==(const Token&, const Token&) = default;
};

// Reads `roles`, `tenants` and `expires_at`.
void read_token_rights(const Fields& fields, const Place& place, Token& token);

// Writes and reads the body of its record. Errors name the field.
std::string write_token(const Token& token);
Result<Token> parse_token(std::string_view body, std::string name);

}  // namespace sluice::control

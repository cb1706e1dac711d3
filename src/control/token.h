#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "control/principal.h"
#include "policy/fields.h"

// Tokens: what an API client shows to be recognised.
//
//   sluice_ + 32 letters and digits (160 random bits) + 6 more, a checksum
//
// The prefix lets scanners find tokens that were committed by mistake, the checksum tells a typing error from
// a token that is not known. Only the hash of a token is stored; there are enough random bits in it that a
// plain SHA-256 is enough, too.
namespace sluice::control {

inline constexpr std::string_view kTokenPrefix = "sluice_";
using TokenEntropy = std::array<unsigned char, 20>;

std::string make_token(const TokenEntropy& random);
// From the operating system.
TokenEntropy token_entropy();
// Whether it could be a token at all: prefix, length, checksum.
bool is_token(std::string_view text);
// 64 hexadecimal digits.
std::string hash_token(std::string_view token);

// What is stored of a token. Its name is that of the record.
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

// The body of its record, and back. Errors name the field.
std::string write_token(const Token& token);
Result<Token> parse_token(std::string_view body, std::string name);

}  // namespace sluice::control

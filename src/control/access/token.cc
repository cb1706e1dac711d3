#include "control/access/token.h"

#include <sys/random.h>

#include <array>
#include <cerrno>
#include <system_error>
#include <utility>

#include "base/text/encode.h"
#include "control/access/rights.h"
#include "document/document_builder.h"
#include "document/document_text.h"
#include "document/fields.h"
#include "document/literals.h"
#include "ledger/chain.h"

namespace sluice::control {
namespace {

constexpr std::size_t kRandomChars = 32;
constexpr std::size_t kChecksumChars = 6;

std::string checksum(std::string_view token_without_it) {
  return to_base32(ledger::sha256(token_without_it)).substr(0, kChecksumChars);
}

Literal<std::string> parse_hash(std::string_view text) {
  const bool is_hash = text.size() == 2 * ledger::kHashBytes &&
                       text.find_first_not_of("0123456789abcdef") == std::string_view::npos;
  if (is_hash) return std::string(text);
  return std::unexpected("is not a hash of 64 hexadecimal digits");
}

}  // namespace

void read_token_rights(const Fields& fields, const Place& place, Token& token) {
  Rights rights = read_rights(fields, place, "a token");
  token.roles = std::move(rights.roles);
  token.tenants = std::move(rights.tenants);
  token.expires_us = fields.text("expires_at", parse_instant_us).value_or(0);
}

TokenEntropy token_entropy() {
  TokenEntropy random;
  if (getrandom(random.data(), random.size(), 0) != static_cast<ssize_t>(random.size()))
    throw std::system_error(errno, std::generic_category(), "getrandom");
  return random;
}

std::string make_token(const TokenEntropy& random) {
  std::string token(kTokenPrefix);
  token += to_base32({reinterpret_cast<const char*>(random.data()), random.size()});
  return token += checksum(token);
}

bool is_token(std::string_view text) {
  if (!text.starts_with(kTokenPrefix) || text.size() != kTokenPrefix.size() + kRandomChars + kChecksumChars)
    return false;
  return text.substr(text.size() - kChecksumChars) == checksum(text.substr(0, text.size() - kChecksumChars));
}

std::string hash_token(std::string_view token) { return to_hex(ledger::sha256(token)); }

std::string write_token(const Token& token) {
  DocumentNode map = map_node();
  put(map, "hash", text_node(token.hash));
  DocumentNode roles = list_node();
  for (const Role role : token.roles) roles.items.push_back(text_node(to_string(role)));
  put(map, "roles", std::move(roles));
  if (!token.tenants.empty()) put(map, "tenants", text_list(token.tenants));
  if (token.expires_us != 0) put(map, "expires_at", text_node(instant_text(token.expires_us)));
  std::string text;
  append_json(map, text);
  return text;
}

Result<Token> parse_token(std::string_view body, std::string name) {
  constexpr std::array<std::string_view, 4> kNames = {"hash", "roles", "tenants", "expires_at"};
  Problems problems;
  Token token;
  if (const auto tree = parse_document_tree(body, name, problems)) {
    const Place place{name, problems};
    const Fields fields(*tree, place, kNames);
    token.hash = fields.text("hash", parse_hash).value_or("");
    fields.missing("hash");
    read_token_rights(fields, place, token);
  }
  if (!problems.empty()) return std::unexpected(problems.first_error());
  token.name = std::move(name);
  return token;
}

}  // namespace sluice::control

#include "control/access.h"

#include <cctype>

namespace sluice::control {
namespace {

std::unexpected<Error> refused(std::string sentence) {
  return std::unexpected(Error{ErrorCode::kUnauthenticated, std::move(sentence), "authorization"});
}

// What follows "Bearer ", in any case; nothing if it is another scheme.
std::optional<std::string_view> bearer(std::string_view authorization) {
  constexpr std::string_view kScheme = "bearer ";
  if (authorization.size() < kScheme.size()) return std::nullopt;
  for (std::size_t i = 0; i < kScheme.size(); ++i)
    if (std::tolower(static_cast<unsigned char>(authorization[i])) != kScheme[i]) return std::nullopt;
  std::string_view token = authorization.substr(kScheme.size());
  while (token.starts_with(' ')) token.remove_prefix(1);
  return token;
}

}  // namespace

Result<Principal> Access::who(const net::Peer& peer, std::string_view authorization) const {
  if (authorization.empty()) {
    if (peer.is_trusted) return Principal::loopback();
    return refused("this needs a token; send it as `Authorization: Bearer sluice_…`");
  }
  const auto token = bearer(authorization);
  if (!token) return refused("send the token as `Authorization: Bearer sluice_…`");
  if (!is_token(*token)) return refused("this is not a token of Sluice, or there is a typing error in it");
  if (auto principal = tokens_.find(*token, clock_.now_us())) return *std::move(principal);
  return refused("this token is not known, or has expired");
}

}  // namespace sluice::control

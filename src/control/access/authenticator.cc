#include "control/access/authenticator.h"

#include <cctype>

namespace sluice::control {
namespace {

std::unexpected<Error> refused(std::string sentence) {
  return std::unexpected(Error{ErrorCode::kUnauthenticated, std::move(sentence), "authorization"});
}

std::string unknown_certificate(const std::vector<std::string>& names) {
  constexpr std::size_t kShownMax = 4;
  std::string list;
  for (std::size_t i = 0; i < names.size() && i < kShownMax; ++i)
    list += (list.empty() ? "" : ", ") + names[i];
  if (names.size() > kShownMax) list += ", …";
  return "no identity matches this client's certificate (" + list +
         "); add one to the --identities file, or send a token as `Authorization: Bearer sluice_…`";
}

// The text after "Bearer ", in any case; nothing if it is another scheme.
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

Authenticator::Authenticator(const KnownCallers& known)
    : clock_(known.clock), tokens_(known.tokens.published()) {
  if (known.identities) identities_.emplace(known.identities->published());
}

Result<Principal> Authenticator::who(const net::Peer& peer, std::string_view authorization) {
  if (authorization.empty()) {
    if (identities_ && !peer.names.empty())
      if (auto principal = identities_->get().find(peer.names)) return *std::move(principal);
    if (peer.is_trusted) return Principal::loopback();
    if (!peer.names.empty()) return refused(unknown_certificate(peer.names));
    return refused("this needs a token; send it as `Authorization: Bearer sluice_…`");
  }
  const auto token = bearer(authorization);
  if (!token) return refused("send the token as `Authorization: Bearer sluice_…`");
  if (!is_token(*token)) return refused("this is not a Sluice token, or it is mistyped");
  if (auto principal = tokens_.get().find(*token, clock_.now_us())) return *std::move(principal);
  return refused("this token is unknown or has expired");
}

}  // namespace sluice::control

#include "control/access/first_token.h"

#include "control/access/token.h"

namespace sluice::control {
namespace {

// Each further attempt means that a token has the previous name, and cannot administer.
constexpr int kNamesTriedMax = 100;

Result<void> may_make(const std::function<bool()>& is_needed) {
  if (is_needed()) return {};
  return std::unexpected(Error{ErrorCode::kConflict, "a token that can create tokens already exists", ""});
}

}  // namespace

bool needs_first_token(const TokenRegistry& tokens, const IdentityRegistry& identities, std::int64_t now_us) {
  const auto known = tokens.published().current();
  return identities.published().current()->can_administer() ? known->empty() : !known->can_administer(now_us);
}

std::optional<std::string> make_first_token(LedgerFollower& follower, const std::function<bool()>& is_needed,
                                            const Clock& clock) {
  std::string secret = make_token(token_entropy());
  for (int number = 1; number <= kNamesTriedMax; ++number) {
    const std::string name = number == 1 ? "bootstrap" : "bootstrap-" + std::to_string(number);
    const Token token{name, hash_token(secret), {Role::kAdmin}, {}, 0};
    const auto written = follower.write({.drafts = {{.kind = ledger::Kind::kToken,
                                                     .name = token.name,
                                                     .action = "create",
                                                     .body = write_token(token),
                                                     .expected_version = 0}},
                                         .actor = "sluice",
                                         .reason = "no token could create others",
                                         .at_us = clock.now_us(),
                                         .request_id = ""},
                                        [&] { return may_make(is_needed); });
    if (written) return secret;
    if (written.error().code != ErrorCode::kStale) return std::nullopt;
  }
  return std::nullopt;
}

}  // namespace sluice::control

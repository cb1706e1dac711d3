#include "control/access/first_token.h"

#include "base/try.h"
#include "control/access/bootstrap_file.h"
#include "control/access/token.h"

namespace sluice::control {
namespace {

// Each further attempt means that a token has the previous name, and cannot administer.
constexpr int kNamesTriedMax = 100;

Result<void> may_make(const std::function<bool()>& is_needed) {
  if (is_needed()) return {};
  return std::unexpected(Error{ErrorCode::kConflict, "a token that can create tokens already exists", ""});
}

// Under the first name that no token has had.
Result<void> write_first_token(const std::string& secret, int names, LedgerFollower& follower,
                               const std::function<bool()>& is_needed, const Clock& clock) {
  Result<void> outcome;
  for (int number = 1; number <= names; ++number) {
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
    if (written) return {};
    outcome = std::unexpected(written.error());
    if (written.error().code != ErrorCode::kStale) break;
  }
  return outcome;
}

}  // namespace

bool needs_first_token(const TokenRegistry& tokens, const IdentityRegistry& identities, std::int64_t now_us) {
  const auto known = tokens.published().current();
  return identities.published().current()->can_administer() ? known->empty() : !known->can_administer(now_us);
}

std::optional<std::string> make_first_token(LedgerFollower& follower, const std::function<bool()>& is_needed,
                                            const Clock& clock) {
  std::string secret = make_token(token_entropy());
  if (!write_first_token(secret, kNamesTriedMax, follower, is_needed, clock)) return std::nullopt;
  return secret;
}

Result<std::optional<std::string>> make_first_token_in(const std::string& path, LedgerFollower& follower,
                                                       const std::function<bool()>& is_needed,
                                                       const Clock& clock) {
  const BootstrapToken token = SLUICE_TRY(take_bootstrap_token(path));
  const int names = token.is_new ? kNamesTriedMax : 1;
  if (const auto written = write_first_token(token.secret, names, follower, is_needed, clock); !written) {
    if (token.is_new) remove_bootstrap_file(path);
    if (token.is_new || written.error().code != ErrorCode::kStale) return std::nullopt;
    return std::unexpected(
        Error{ErrorCode::kFailedPrecondition,
              "no token can create others, but that in " + path +
                  " was used before and may have been revoked; remove the file to get a new one",
              ""});
  }
  return token.is_new ? "the first token, with the role admin, was written to " + path
                      : "the first token, with the role admin, is that in " + path;
}

}  // namespace sluice::control

#include "control/first_token.h"

#include "control/token.h"

namespace sluice::control {

std::optional<std::string> make_first_token(Registry& registry, const Clock& clock) {
  std::string secret = make_token(token_entropy());
  const Token token{"bootstrap", hash_token(secret), {Role::kAdmin}, {}, 0};
  const auto written = registry.write({.drafts = {{.kind = ledger::Kind::kToken,
                                                   .name = token.name,
                                                   .action = "create",
                                                   .body = write_token(token),
                                                   .expected_version = 0}},
                                       .actor = "sluice",
                                       .reason = "there was no token at all",
                                       .at_us = clock.now_us(),
                                       .request_id = ""});
  if (!written) return std::nullopt;
  return secret;
}

}  // namespace sluice::control

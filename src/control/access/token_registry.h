#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>

#include "base/published.h"
#include "control/access/token.h"
#include "control/ledger_follower.h"

namespace sluice::control {

// A set of tokens that does not change once it is published. Thread-safe.
class Tokens {
 public:
  // The owner of this token, if it is known and has not expired. Found by its hash, so the time of a lookup
  // reveals nothing about existing tokens.
  std::optional<Principal> find(std::string_view token, std::int64_t now_us) const;
  bool empty() const { return by_hash_.empty(); }
  // Whether one of them can create tokens at this time.
  bool can_administer(std::int64_t now_us) const;

 private:
  friend class TokenRegistry;
  std::unordered_map<std::string, std::shared_ptr<const Token>> by_hash_;
  std::unordered_map<std::string, std::string> hash_of_;  // by name
};

// The tokens in force. The control plane changes them; every loop reads what is published.
class TokenRegistry final : public DocumentRegistry {
 public:
  const Published<Tokens>& published() const { return published_; }

  Result<void> check(std::span<const ledger::Draft* const> drafts) override;
  std::map<std::string, std::string> apply(std::span<const ledger::Record* const> records) override;

 private:
  Published<Tokens> published_{std::make_shared<const Tokens>()};
};

}  // namespace sluice::control

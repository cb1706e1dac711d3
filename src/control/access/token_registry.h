#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>

#include "control/access/token.h"
#include "control/registry.h"

namespace sluice::control {

// The tokens in force. Thread-safe: every loop reads it, the control plane changes it.
class TokenRegistry final : public DocumentRegistry {
 public:
  // The owner of this token, if it is known and has not expired. Found by its hash, so the time of a lookup
  // reveals nothing about existing tokens.
  std::optional<Principal> find(std::string_view token, std::int64_t now_us) const;
  bool empty() const;
  // Whether one of them can create tokens at this time.
  bool can_administer(std::int64_t now_us) const;

  Result<void> check(std::span<const ledger::Draft* const> drafts) override;
  std::map<std::string, std::string> apply(std::span<const ledger::Record* const> records) override;

 private:
  mutable std::mutex mutex_;
  std::unordered_map<std::string, std::shared_ptr<const Token>> by_hash_;  // guarded by mutex_
  std::unordered_map<std::string, std::string> hash_of_;                   // by name; guarded by mutex_
};

}  // namespace sluice::control

#pragma once

#include "control/registry.h"
#include "policy/catalog.h"

namespace sluice::control {

// Brings the policies of the ledger into force, beside those of files. Belongs to the control plane's thread.
class PolicyKeeper final : public Keeper {
 public:
  explicit PolicyKeeper(PolicyCatalog& catalog) : catalog_(catalog) {}
  Result<void> check(std::span<const ledger::Draft* const> drafts) override;
  std::map<std::string, std::string> apply(std::span<const ledger::Record* const> records) override;

 private:
  PolicyCatalog& catalog_;
};

// The same for what is agreed with users.
class UserKeeper final : public Keeper {
 public:
  explicit UserKeeper(PolicyCatalog& catalog) : catalog_(catalog) {}
  Result<void> check(std::span<const ledger::Draft* const> drafts) override;
  std::map<std::string, std::string> apply(std::span<const ledger::Record* const> records) override;

 private:
  PolicyCatalog& catalog_;
};

}  // namespace sluice::control

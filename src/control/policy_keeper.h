#pragma once

#include "base/control_limits.h"
#include "control/registry.h"
#include "policy/catalog.h"

namespace sluice::control {

// Brings the policies of the ledger into force, beside those of files. Belongs to the control plane's thread.
//
// What is written keeps to its tenant's share: so many policies, and so many limits on one request. What is
// in the ledger already is in force whatever it comes to.
class PolicyKeeper final : public Keeper {
 public:
  // `per_tenant`: so many policies the ledger may have for one tenant.
  explicit PolicyKeeper(PolicyCatalog& catalog, std::int64_t per_tenant = kPoliciesPerTenant)
      : catalog_(catalog), per_tenant_(per_tenant) {}
  Result<void> check(std::span<const ledger::Draft* const> drafts) override;
  std::map<std::string, std::string> apply(std::span<const ledger::Record* const> records) override;

 private:
  Result<void> check_shares(const PolicyChange& change) const;

  PolicyCatalog& catalog_;
  const std::int64_t per_tenant_;
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

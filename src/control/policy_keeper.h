#pragma once

#include <functional>
#include <span>
#include <string>
#include <utility>

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
  using Log = std::function<void(bool is_problem, const std::string& sentence)>;
  struct Options {
    std::int64_t per_tenant = kPoliciesPerTenant;  // so many policies the ledger may have for one tenant
    Log log = [](bool, const std::string&) {};     // hears which versions have come into force
  };
  explicit PolicyKeeper(PolicyCatalog& catalog) : PolicyKeeper(catalog, Options{}) {}
  PolicyKeeper(PolicyCatalog& catalog, Options options) : catalog_(catalog), options_(std::move(options)) {}
  Result<void> check(std::span<const ledger::Draft* const> drafts) override;
  std::map<std::string, std::string> apply(std::span<const ledger::Record* const> records) override;

 private:
  Result<void> check_shares(const PolicyChange& change) const;
  void tell(std::span<const ledger::Record* const> records, const Snapshot& before) const;

  PolicyCatalog& catalog_;
  const Options options_;
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

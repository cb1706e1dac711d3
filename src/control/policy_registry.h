#pragma once

#include <functional>
#include <map>
#include <span>
#include <string>
#include <utility>

#include "base/limits/control_limits.h"
#include "base/log/log_event.h"
#include "control/ledger_follower.h"
#include "policy/snapshot/catalog.h"

namespace sluice::control {

// Puts the policies of the ledger into force, beside those from files. Belongs to the control plane's thread.
//
// A write must respect the quotas of its tenant: the number of policies, their bytes, and the number of
// limits per request. Policies already in the ledger are in force even if they exceed the quotas.
class PolicyRegistry final : public DocumentRegistry {
 public:
  struct Options {
    std::int64_t per_tenant = kPoliciesPerTenant;  // the most policies of one tenant in the ledger
    EventLog log = {};                             // receives the versions that have come into force
  };
  explicit PolicyRegistry(PolicyCatalog& catalog) : PolicyRegistry(catalog, Options{}) {}
  PolicyRegistry(PolicyCatalog& catalog, Options options) : catalog_(catalog), options_(std::move(options)) {}
  Result<void> check(std::span<const ledger::Draft* const> drafts) override;
  std::map<std::string, std::string> apply(std::span<const ledger::Record* const> records) override;

 private:
  using BodyBytes = std::map<std::string, std::size_t, std::less<>>;  // by policy
  Result<void> check_shares(const PolicyChange& change, const BodyBytes& put_bytes) const;
  void log_changes(std::span<const ledger::Record* const> records, const Snapshot& before) const;

  PolicyCatalog& catalog_;
  const Options options_;
  BodyBytes body_bytes_;  // of the newest versions
};

// The same for the tiers and overrides of users.
class UserRegistry final : public DocumentRegistry {
 public:
  explicit UserRegistry(PolicyCatalog& catalog) : catalog_(catalog) {}
  Result<void> check(std::span<const ledger::Draft* const> drafts) override;
  std::map<std::string, std::string> apply(std::span<const ledger::Record* const> records) override;

 private:
  void put(std::span<const User> users, std::map<std::string, std::string>& problems);

  PolicyCatalog& catalog_;
};

}  // namespace sluice::control

#pragma once

#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_set>
#include <vector>

#include "base/error.h"
#include "policy/repository.h"
#include "policy/snapshot.h"

namespace sluice {

// Why a policy with a rollout under way cannot be changed.
std::string on_its_way_text(const std::string& id);

// Keeps the policies of all sources together and publishes what is in force. Thread-safe: one change at a
// time, and every change is whole or does not happen.
//
// There are two sources. Files come as a complete list and own the ids in them; everything else comes as
// single changes, from the ledger, and may not touch what files own.
class PolicyCatalog {
 public:
  // Both outlive it.
  PolicyCatalog(PolicyBoard& board, ParamsTable& params, CompileOptions options = {})
      : board_(board), params_(params), options_(options) {}
  PolicyCatalog(const PolicyCatalog&) = delete;
  PolicyCatalog& operator=(const PolicyCatalog&) = delete;

  // These are all the policies that files have now, and the domains whose descriptors lead to some of them.
  // Fails as Snapshot::with() does, or with kConflict if an id is in the ledger.
  Result<void> replace_files(std::vector<Policy> policies, EnvoyDomains envoy_domains = {});

  // kConflict: a policy of that id is in a file, and is changed there.
  Result<void> change(PolicyChange change);
  // The errors that change() would report.
  // A policy with a candidate can become only that; anything else is kConflict here.
  Result<void> try_change(PolicyChange change) const;

  // What becomes of one policy.
  struct Step {
    std::string id;
    std::optional<Policy> policy;  // absent: it is removed
  };
  // Takes these steps in their order, each beside what those before it have left, and publishes the outcome
  // at once. A policy that cannot be in force then is left out, and so is the one that it was to replace: the
  // outcome does not depend on what was in force under these ids. Returns the errors by id; to remove what a
  // file has is none, and does nothing. REQUIRES: ids are named once.
  std::map<std::string, Error> change_in_order(std::vector<Step> steps);

  // The candidate goes beside the policy in force, in place of one that was there before. kNotFound: there is
  // no such policy; kStale: it has another version; kConflict: it comes from a file.
  Result<void> put_candidate(Candidate candidate);
  // The errors that put_candidate() would report.
  Result<void> try_candidate(Candidate candidate) const;
  // The policy goes on alone; nothing if it has no candidate.
  Result<void> remove_candidate(const std::string& id);

  bool is_from_file(std::string_view id) const;
  std::shared_ptr<const Snapshot> current() const { return board_.current(); }

 private:
  // REQUIRES, of these: mutex_ is held.
  Result<void> refuse_file_policies(const PolicyChange& change) const;
  Result<void> refuse_policies_on_their_way(const PolicyChange& change) const;
  Result<PolicyChange> change_with(Candidate candidate) const;
  // Drops steps for ids that are not in force if the policies stand in their way that no step is about.
  void leave_out_hopeless(std::vector<Step>& steps, std::map<std::string, Error>& errors) const;
  // Turns the steps that cannot be taken into removals.
  void leave_out(std::vector<Step>& steps, std::map<std::string, Error>& errors) const;

  PolicyBoard& board_;
  ParamsTable& params_;
  const CompileOptions options_;
  mutable std::mutex mutex_;
  std::unordered_set<std::string> from_files_;  // ids; guarded by mutex_
};

}  // namespace sluice

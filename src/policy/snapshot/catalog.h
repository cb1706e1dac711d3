#pragma once

#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_set>
#include <vector>

#include "base/error.h"
#include "base/mutex.h"
#include "policy/snapshot/snapshot.h"
#include "policy/snapshot/snapshot_publisher.h"

namespace sluice {

// The message for a policy that cannot be changed because its rollout is running.
std::string on_its_way_text(const std::string& id);

// Holds the policies of all sources and publishes those in force. Thread-safe: one change at a time, and a
// change happens completely or not at all.
//
// There are two sources. Files arrive as a complete list and own the ids in them. All other policies come
// from the ledger, as single changes, and may not touch ids that files own. Files win: a policy of the ledger
// that is in their way is left out until they release what it needs.
class PolicyCatalog {
 public:
  // REQUIRES: both outlive this object.
  PolicyCatalog(SnapshotPublisher& snapshots, ParamsTable& params, CompileOptions options = {})
      : snapshots_(snapshots), params_(params), options_(options) {}
  PolicyCatalog(const PolicyCatalog&) = delete;
  PolicyCatalog& operator=(const PolicyCatalog&) = delete;

  // Replaces all policies that come from files, and the Envoy domains whose descriptors lead to some of them.
  // Fails as Snapshot::with() does, if the files alone are invalid; the error's `item` is the position in
  // `policies`. Returns why policies of the ledger were left out for them, by id; see left_out().
  Result<std::map<std::string, std::string>> replace_files(std::vector<Policy> policies,
                                                           EnvoyDomains envoy_domains = {});
  // The policies that were in force until files took their place, and why, by id. Those that
  // change_in_order() was given since are not among them.
  std::map<std::string, std::string> left_out() const;

  // kConflict: a file has a policy with this id; it must be changed there.
  Result<void> change(PolicyChange change);
  // The errors that change() would report. In addition, a policy with a candidate may only become that
  // candidate; anything else is kConflict here.
  Result<void> try_change(PolicyChange change) const;

  // The change of one policy.
  struct Step {
    std::string id;
    std::optional<Policy> policy;  // absent: remove it
  };
  // Applies the steps in order, each on the result of those before it, and publishes the outcome once. If a
  // policy cannot come into force, it is left out, and so is the one that it would have replaced: the outcome
  // does not depend on what was in force under these ids. Returns the errors by id. Removing a policy that a
  // file owns is not an error and does nothing. REQUIRES: each id occurs once.
  std::map<std::string, Error> change_in_order(std::vector<Step> steps);

  // Puts the candidate beside the policy in force, in place of an earlier candidate. kNotFound: there is no
  // such policy; kStale: it has another version; kConflict: it comes from a file.
  Result<void> put_candidate(Candidate candidate);
  // The errors that put_candidate() would report.
  Result<void> try_candidate(Candidate candidate) const;
  // The policy stays in force alone. Does nothing if it has no candidate.
  Result<void> remove_candidate(const std::string& id);

  bool is_from_file(std::string_view id) const;
  std::shared_ptr<const Snapshot> current() const { return snapshots_.current(); }

 private:
  Result<void> refuse_file_policies(const PolicyChange& change) const SLUICE_REQUIRES(mutex_);
  Result<void> refuse_policies_on_their_way(const PolicyChange& change) const SLUICE_REQUIRES(mutex_);
  Result<PolicyChange> change_with(Candidate candidate) const SLUICE_REQUIRES(mutex_);
  // Drops steps for ids not in force if policies that no step changes are in the way.
  void leave_out_hopeless(std::vector<Step>& steps, std::map<std::string, Error>& errors) const
      SLUICE_REQUIRES(mutex_);
  // Turns steps that cannot be applied into removals.
  void leave_out(std::vector<Step>& steps, std::map<std::string, Error>& errors) const
      SLUICE_REQUIRES(mutex_);
  // The steps that cannot be applied, in order, if only `others` are in force at first. Empty if these alone
  // are invalid.
  std::map<std::string, Error> refused_beside(std::vector<Policy> others, std::span<const Step> steps) const
      SLUICE_REQUIRES(mutex_);
  std::map<std::string, std::string> why_left_out() const SLUICE_REQUIRES(mutex_);
  // Policies of the ledger that are in force, or were left out, and whose ids are not among `ids`.
  std::vector<Step> of_ledger(const std::unordered_set<std::string>& ids) const SLUICE_REQUIRES(mutex_);

  SnapshotPublisher& snapshots_;
  ParamsTable& params_;
  const CompileOptions options_;
  mutable Mutex mutex_;
  std::unordered_set<std::string> from_files_ SLUICE_GUARDED_BY(mutex_);  // ids
  struct LeftOut {
    Policy policy;
    std::string why;
  };
  std::map<std::string, LeftOut> left_out_ SLUICE_GUARDED_BY(mutex_);  // by id
};

}  // namespace sluice

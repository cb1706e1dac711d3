#pragma once

#include <functional>
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
// from the ledger, as single changes, and may not touch ids that files own.
//
// What is in force depends only on the files and on the newest versions in the ledger, not on the order or
// the portions in which they arrived: nodes that have the same ones agree. Files win. Beside them, the
// policies of the ledger come into force one after the other: first those for any tenant, so that no tenant's
// policy stands in their way; then by id, so that a policy keeps its place when it changes. One that does not
// fit beside those before it is left out until it does.
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
  // The policies of the ledger that are not in force, and why, by id.
  std::map<std::string, std::string> left_out() const;

  // Makes this change or none. What was left out stays so. kConflict: a file has a policy with this id; it
  // must be changed there.
  Result<void> change(PolicyChange change);
  // The errors that change() would report. In addition, a policy with a candidate may only become that
  // candidate; anything else is kConflict here.
  Result<void> try_change(PolicyChange change) const;

  // The change of one policy.
  struct Step {
    std::string id;
    std::optional<Policy> policy;  // absent: remove it
  };
  // These are the newest versions in the ledger now. Publishes the outcome once. Returns left_out(). If a
  // changed policy cannot come into force, its former version does not stay either. REQUIRES: each id occurs
  // once.
  std::map<std::string, std::string> change_ledger(std::vector<Step> steps);

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
  // Which policies count.
  using Concerns = std::function<bool(const Policy&)>;
  void settle(const std::vector<Step>& steps) SLUICE_REQUIRES(mutex_);
  bool apply(std::span<const Step> steps) SLUICE_REQUIRES(mutex_);
  bool frees_nothing(std::span<const Step> steps) const SLUICE_REQUIRES(mutex_);
  bool is_full() const SLUICE_REQUIRES(mutex_);
  Result<void> compete(std::span<const Step> steps, const Concerns& concerns) SLUICE_REQUIRES(mutex_);
  // Those of `rivals` that do not fit, one after the other, if `others` are in force. Empty if these alone
  // are invalid.
  std::map<std::string, Error> refused_beside(std::vector<Policy> others, std::vector<Policy>& rivals) const
      SLUICE_REQUIRES(mutex_);
  std::map<std::string, std::string> why_left_out() const SLUICE_REQUIRES(mutex_);
  // Policies of the ledger that are in force or left out.
  std::vector<Policy> of_ledger(const Concerns& concerns) const SLUICE_REQUIRES(mutex_);

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

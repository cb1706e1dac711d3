#include "policy/snapshot/catalog.h"

#include <span>
#include <utility>

#include "base/try.h"
#include "policy/multi_rate/multi_rate_entry.h"

namespace sluice {
namespace {

using Step = PolicyCatalog::Step;

// Up to this many steps are checked one by one.
constexpr std::size_t kFewSteps = 1000;

// The error of a policy: the one at this position in PolicyChange::put, or one that is removed.
using Position = std::optional<std::uint32_t>;

Position position(std::size_t i) { return static_cast<std::uint32_t>(i); }

Error of_a_file(const std::string& id, Position at) {
  return {ErrorCode::kConflict, "policy \"" + id + "\" comes from a file; change it there", at ? "id" : "",
          at};
}

PolicyChange change_of(std::span<const Step> steps) {
  PolicyChange change;
  for (const Step& step : steps)
    if (step.policy)
      change.put.push_back(*step.policy);
    else
      change.remove.push_back(step.id);
  return change;
}

// Finds out, without touching the published snapshots, which steps can be applied in order: tries all at
// once; if that fails, each half separately, until only the failing steps are left out.
class StepTrial {
 public:
  StepTrial(std::shared_ptr<const Snapshot> start, ParamsDraft& params, const CompileOptions& options)
      : snapshot_(std::move(start)), params_(params), options_(options) {}

  void take(std::span<const Step> steps, std::map<std::string, Error>& errors) {
    auto next = snapshot_->with(change_of(steps), params_, options_);
    if (next) {
      snapshot_ = std::move(*next);
    } else if (steps.size() == 1) {
      errors[steps[0].id] = std::move(next.error());
    } else {
      take(steps.first(steps.size() / 2), errors);
      take(steps.subspan(steps.size() / 2), errors);
    }
  }

 private:
  std::shared_ptr<const Snapshot> snapshot_;
  ParamsDraft& params_;
  const CompileOptions& options_;
};

}  // namespace

std::vector<Step> PolicyCatalog::of_ledger(const std::unordered_set<std::string>& ids) const {
  std::map<std::string, Step> steps;
  snapshots_.current()->policies().for_each([&](const std::shared_ptr<const CompiledPolicy>& policy) {
    if (!ids.contains(policy->source.id)) steps[policy->source.id] = {policy->source.id, policy->source};
  });
  for (const std::string& id : from_files_) steps.erase(id);
  for (const auto& [id, each] : left_out_)
    if (!ids.contains(id)) steps.try_emplace(id, Step{id, each.policy});
  std::vector<Step> list;
  for (auto& [id, step] : steps) list.push_back(std::move(step));
  return list;
}

Result<std::map<std::string, std::string>> PolicyCatalog::replace_files(std::vector<Policy> policies,
                                                                        EnvoyDomains envoy_domains) {
  const Lock lock(mutex_);
  const auto before = snapshots_.current();
  std::unordered_set<std::string> ids;
  std::vector<std::uint32_t> changed;  // positions in `policies`
  MultiRateFirsts multi_rate_firsts;
  std::map<std::string, LeftOut> left_out;
  for (std::uint32_t i = 0; i < policies.size(); ++i) {
    const Policy& policy = policies[i];
    const CompiledPolicy* const known = before->find(policy.id);
    const bool was_from_file = from_files_.contains(policy.id);
    if (known && !was_from_file)
      left_out[policy.id] = {known->source, "a policy file has a policy with this id"};
    else if (const auto still = left_out_.find(policy.id); still != left_out_.end())
      left_out.insert(*still);
    ids.insert(policy.id);
    if (is_multi_rate_entry(policy)) multi_rate_firsts.try_emplace(policy.tenant, policy.id);
    if (!was_from_file || known->source != policy) changed.push_back(i);
  }
  std::vector<std::string> withdrawn;
  for (const std::string& id : from_files_)
    if (!ids.contains(id)) withdrawn.push_back(id);
  const auto change_of_files = [&] {
    PolicyChange change;
    for (const std::uint32_t i : changed) change.put.push_back(policies[i]);
    change.remove = withdrawn;
    change.envoy_domains = envoy_domains;
    change.multi_rate_firsts = multi_rate_firsts;
    return change;
  };

  // A tenant that has used up its share must not keep the operator from changing its limits.
  CompileOptions of_operator = options_;
  of_operator.by_operator = true;

  // All policies of the ledger stay or come back, unless they are in the way.
  PolicyChange change = change_of_files();
  for (const auto& [id, each] : left_out_)
    if (!ids.contains(id)) change.put.push_back(each.policy);
  auto snapshot = before->with(std::move(change), params_, of_operator);
  if (!snapshot) {
    const std::vector<Step> others = of_ledger(ids);
    PolicyChange alone = change_of_files();
    for (const Step& step : others) alone.remove.push_back(step.id);
    if (auto fits = before->check(std::move(alone), params_, of_operator); !fits) {
      if (auto& item = fits.error().item) item = changed[*item];
      return std::unexpected(std::move(fits.error()));
    }
    const auto refused = refused_beside(policies, others);
    change = change_of_files();
    for (const Step& step : others) {
      if (const auto why = refused.find(step.id); why != refused.end()) {
        left_out[step.id] = {*step.policy, why->second.message};
        change.remove.push_back(step.id);
      } else if (!before->find(step.id)) {
        change.put.push_back(*step.policy);
      }
    }
    snapshot = before->with(std::move(change), params_, of_operator);
    if (!snapshot) return std::unexpected(Error{snapshot.error().code, snapshot.error().message, ""});
  }
  from_files_ = std::move(ids);
  left_out_ = std::move(left_out);
  snapshots_.publish(std::move(*snapshot));
  return why_left_out();
}

std::map<std::string, std::string> PolicyCatalog::why_left_out() const {
  std::map<std::string, std::string> sentences;
  for (const auto& [id, each] : left_out_) sentences[id] = each.why;
  return sentences;
}

std::map<std::string, std::string> PolicyCatalog::left_out() const {
  const Lock lock(mutex_);
  return why_left_out();
}

std::string on_its_way_text(const std::string& id) {
  return "policy \"" + id + "\" has a running rollout; abort or finish it first, at /v1/policies/" + id +
         "/rollout";
}

Result<void> PolicyCatalog::refuse_file_policies(const PolicyChange& change) const {
  for (std::size_t i = 0; i < change.put.size(); ++i)
    if (from_files_.contains(change.put[i].id))
      return std::unexpected(of_a_file(change.put[i].id, position(i)));
  for (const std::string& id : change.remove)
    if (from_files_.contains(id)) return std::unexpected(of_a_file(id, {}));
  return {};
}

Result<void> PolicyCatalog::refuse_policies_on_their_way(const PolicyChange& change) const {
  const auto snapshot = snapshots_.current();
  const auto refuse = [](const std::string& id, Position at) {
    return std::unexpected(Error{ErrorCode::kConflict, on_its_way_text(id), at ? "id" : "", at});
  };
  const auto candidate_of = [&](const std::string& id) {
    const CompiledPolicy* const policy = snapshot->find(id);
    return policy ? policy->candidate.get() : nullptr;
  };
  for (std::size_t i = 0; i < change.put.size(); ++i) {
    const CompiledCandidate* const candidate = candidate_of(change.put[i].id);
    if (!candidate) continue;
    Policy finished = candidate->policy().source;
    finished.version = change.put[i].version;
    if (change.put[i] != finished) return refuse(change.put[i].id, position(i));
  }
  for (const std::string& id : change.remove)
    if (candidate_of(id)) return refuse(id, {});
  return {};
}

Result<PolicyChange> PolicyCatalog::change_with(Candidate candidate) const {
  const std::string& id = candidate.policy.id;
  const auto snapshot = snapshots_.current();
  const CompiledPolicy* const policy = snapshot->find(id);
  if (!policy) return std::unexpected(Error{ErrorCode::kNotFound, "there is no policy \"" + id + '"', ""});
  PolicyChange change;
  change.put.push_back(policy->source);
  SLUICE_TRY(refuse_file_policies(change));
  change.candidates.push_back(std::move(candidate));
  return change;
}

Result<void> PolicyCatalog::put_candidate(Candidate candidate) {
  const Lock lock(mutex_);
  PolicyChange change = SLUICE_TRY(change_with(std::move(candidate)));
  auto snapshot = SLUICE_TRY(snapshots_.current()->with(std::move(change), params_, options_));
  snapshots_.publish(std::move(snapshot));
  return {};
}

Result<void> PolicyCatalog::try_candidate(Candidate candidate) const {
  const Lock lock(mutex_);
  PolicyChange change = SLUICE_TRY(change_with(std::move(candidate)));
  return snapshots_.current()->check(std::move(change), params_, options_);
}

Result<void> PolicyCatalog::remove_candidate(const std::string& id) {
  const Lock lock(mutex_);
  const auto before = snapshots_.current();
  const CompiledPolicy* const policy = before->find(id);
  if (!policy || !policy->candidate) return {};
  PolicyChange change;
  change.put.push_back(policy->source);
  auto snapshot = SLUICE_TRY(before->with(std::move(change), params_, options_));
  snapshots_.publish(std::move(snapshot));
  return {};
}

Result<void> PolicyCatalog::change(PolicyChange change) {
  const Lock lock(mutex_);
  SLUICE_TRY(refuse_file_policies(change));
  auto snapshot = SLUICE_TRY(snapshots_.current()->with(std::move(change), params_, options_));
  snapshots_.publish(std::move(snapshot));
  return {};
}

// The outcome is the same without this, but takes as long as compiling all policies; and every document with
// a problem is retried with every change.
void PolicyCatalog::leave_out_hopeless(std::vector<Step>& steps, std::map<std::string, Error>& errors) const {
  const auto now = snapshots_.current();
  PolicyChange others_gone;
  for (const Step& step : steps)
    if (now->find(step.id)) others_gone.remove.push_back(step.id);
  std::erase_if(steps, [&](const Step& step) {
    if (!step.policy || now->find(step.id)) return false;
    PolicyChange alone = others_gone;
    alone.put.push_back(*step.policy);
    const auto fits = now->check(std::move(alone), params_, options_);
    if (!fits) errors[step.id] = fits.error();
    return !fits;
  });
}

// As if nothing was in force under these ids.
void PolicyCatalog::leave_out(std::vector<Step>& steps, std::map<std::string, Error>& errors) const {
  std::unordered_set<std::string_view> ids;
  for (const Step& step : steps) ids.insert(step.id);
  std::vector<Policy> others;
  snapshots_.current()->policies().for_each([&](const std::shared_ptr<const CompiledPolicy>& policy) {
    if (!ids.contains(policy->name())) others.push_back(policy->source);
  });
  std::map<std::string, Error> refused = refused_beside(std::move(others), steps);
  for (Step& step : steps)
    if (refused.contains(step.id)) step.policy.reset();
  errors.merge(refused);
}

// Tried on a copy: a snapshot that with() makes shares its indexes with the one in force, and must be
// published.
std::map<std::string, Error> PolicyCatalog::refused_beside(std::vector<Policy> others,
                                                           std::span<const Step> steps) const {
  const auto indexes = std::make_shared<PolicyIndexes>(
      kWithdrawnIndexesKept, snapshots_.current()->policy_indexes()->in_force_max());
  ParamsDraft params(params_);
  std::map<std::string, Error> refused;
  CompileOptions in_force = options_;
  in_force.by_operator = true;  // they have their numbers
  auto start = Snapshot::empty(indexes)->with({.put = std::move(others)}, params, in_force);
  if (start && !steps.empty()) StepTrial(std::move(*start), params, options_).take(steps, refused);
  return refused;
}

std::map<std::string, Error> PolicyCatalog::change_in_order(std::vector<Step> steps) {
  const Lock lock(mutex_);
  std::map<std::string, Error> errors;
  for (const Step& step : steps) left_out_.erase(step.id);  // the caller knows it now
  std::erase_if(steps, [&](const Step& step) SLUICE_REQUIRES(mutex_) {
    if (!from_files_.contains(step.id)) return false;
    if (step.policy) errors[step.id] = of_a_file(step.id, {});
    return true;
  });
  if (steps.empty()) return errors;
  const auto before = snapshots_.current();
  auto snapshot = before->with(change_of(steps), params_, options_);
  if (!snapshot && steps.size() <= kFewSteps) {
    leave_out_hopeless(steps, errors);
    snapshot = before->with(change_of(steps), params_, options_);
  }
  if (!snapshot) {
    leave_out(steps, errors);
    snapshot = before->with(change_of(steps), params_, options_);
  }
  if (snapshot)
    snapshots_.publish(std::move(*snapshot));
  else
    for (const Step& step : steps) errors.try_emplace(step.id, snapshot.error());
  return errors;
}

Result<void> PolicyCatalog::try_change(PolicyChange change) const {
  const Lock lock(mutex_);
  SLUICE_TRY(refuse_file_policies(change));
  SLUICE_TRY(refuse_policies_on_their_way(change));
  return snapshots_.current()->check(std::move(change), params_, options_);
}

bool PolicyCatalog::is_from_file(std::string_view id) const {
  const Lock lock(mutex_);
  return from_files_.contains(std::string(id));
}

}  // namespace sluice

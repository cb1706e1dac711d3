#include "policy/snapshot/catalog.h"

#include <algorithm>
#include <set>
#include <span>
#include <tuple>
#include <utility>

#include "base/try.h"
#include "policy/multi_rate/multi_rate_entry.h"

namespace sluice {
namespace {

using Step = PolicyCatalog::Step;

constexpr const char* kIdOfAFile = "a policy file has a policy with this id";

// The order in which policies of the ledger come into force.
bool precedes(const Policy& one, const Policy& other) {
  const auto place = [](const Policy& policy) {
    return std::tuple(!policy.tenant.empty(), std::string_view(policy.id));
  };
  return place(one) < place(other);
}

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

std::vector<const Policy*> policies_of(const Snapshot& snapshot) {
  std::vector<const Policy*> list;
  list.reserve(snapshot.policies().size());
  snapshot.policies().for_each(
      [&](const std::shared_ptr<const CompiledPolicy>& policy) { list.push_back(&policy->source); });
  return list;
}

// Finds out, without touching the published snapshots, which policies fit one after the other: tries all at
// once; if that fails, each half separately, until only those that do not fit are left. If policies fit
// together, some of them fit, too, so the outcome is that of trying one by one.
class Trial {
 public:
  Trial(std::shared_ptr<const Snapshot> start, ParamsDraft& params, const CompileOptions& options)
      : snapshot_(std::move(start)), params_(params), options_(options) {}

  void take(std::span<const Policy> policies, std::map<std::string, Error>& errors) {
    if (policies.empty()) return;
    auto next = snapshot_->with({.put = {policies.begin(), policies.end()}}, params_, options_);
    if (next) {
      snapshot_ = std::move(*next);
    } else if (policies.size() == 1) {
      errors[policies[0].id] = std::move(next.error());
    } else {
      take(policies.first(policies.size() / 2), errors);
      take(policies.subspan(policies.size() / 2), errors);
    }
  }

 private:
  std::shared_ptr<const Snapshot> snapshot_;
  ParamsDraft& params_;
  const CompileOptions& options_;
};

}  // namespace

std::vector<Policy> PolicyCatalog::of_ledger(const Concerns& concerns) const {
  std::vector<Policy> list;
  const auto now = snapshots_.current();
  for (const Policy* policy : policies_of(*now))
    if (!from_files_.contains(policy->id) && !left_out_.contains(policy->id) && concerns(*policy))
      list.push_back(*policy);
  for (const auto& [id, each] : left_out_)
    if (concerns(each.policy)) list.push_back(each.policy);
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
    if (const auto still = left_out_.find(policy.id); still != left_out_.end())
      left_out[policy.id] = {still->second.policy, kIdOfAFile};
    else if (known && !was_from_file)
      left_out[policy.id] = {known->source, kIdOfAFile};
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
    std::vector<Policy> others = of_ledger([&](const Policy& policy) { return !ids.contains(policy.id); });
    PolicyChange alone = change_of_files();
    for (const Policy& policy : others) alone.remove.push_back(policy.id);
    if (auto fits = before->check(std::move(alone), params_, of_operator); !fits) {
      if (auto& item = fits.error().item) item = changed[*item];
      return std::unexpected(std::move(fits.error()));
    }
    const auto refused = refused_beside(policies, others);
    change = change_of_files();
    for (const Policy& policy : others) {
      if (const auto why = refused.find(policy.id); why != refused.end()) {
        left_out[policy.id] = {policy, why->second.message};
        change.remove.push_back(policy.id);
      } else if (const CompiledPolicy* const now = before->find(policy.id);
                 !now || from_files_.contains(policy.id) || now->source != policy || now->candidate) {
        change.put.push_back(policy);  // without its candidate, which makes room for files
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
  std::vector<std::string> changed = change.remove;
  for (const Policy& policy : change.put) changed.push_back(policy.id);
  auto snapshot = SLUICE_TRY(snapshots_.current()->with(std::move(change), params_, options_));
  snapshots_.publish(std::move(snapshot));
  for (const std::string& id : changed) left_out_.erase(id);
  return {};
}

std::map<std::string, std::string> PolicyCatalog::change_ledger(std::vector<Step> steps) {
  const Lock lock(mutex_);
  // The caller may repeat what is left out.
  std::erase_if(steps, [&](Step& step) SLUICE_REQUIRES(mutex_) {
    const auto known = left_out_.find(step.id);
    if (known != left_out_.end() && known->second.policy == step.policy) return true;
    if (!from_files_.contains(step.id)) return false;
    if (step.policy)
      left_out_.insert_or_assign(step.id, LeftOut{*std::move(step.policy), kIdOfAFile});
    else
      left_out_.erase(step.id);
    return true;
  });
  if (!steps.empty()) settle(steps);
  return why_left_out();
}

// The general way is the last one; it compiles many policies. If some are left out for long, changes of
// others do not take it, and those of a tenant compile its own policies only.
void PolicyCatalog::settle(const std::vector<Step>& steps) {
  std::set<std::string_view> ids;
  std::set<std::string> tenants;
  for (const Step& step : steps) {
    ids.insert(step.id);
    if (step.policy) tenants.insert(step.policy->tenant);
    if (const CompiledPolicy* const old = snapshots_.current()->find(step.id))
      tenants.insert(old->source.tenant);
  }
  std::vector<Step> all = steps;
  for (const auto& [id, each] : left_out_)
    if (!from_files_.contains(id) && !ids.contains(id)) all.push_back({id, each.policy});
  if (apply(all)) return;
  if (frees_nothing(steps) && apply(steps)) return;
  Result<void> settled = std::unexpected(Error{});
  if (!tenants.contains("") && !is_full())
    settled = compete(steps, [&](const Policy& policy) { return tenants.contains(policy.tenant); });
  if (!settled) settled = compete(steps, [](const Policy&) { return true; });
  if (settled) return;
  // What was withdrawn, or does not fit, is out of force in any case.
  PolicyChange out;
  for (const Step& step : steps) {
    out.remove.push_back(step.id);
    if (step.policy) left_out_.insert_or_assign(step.id, LeftOut{*step.policy, settled.error().message});
  }
  if (auto without = snapshots_.current()->with(std::move(out), params_, options_))
    snapshots_.publish(std::move(*without));
}

bool PolicyCatalog::apply(std::span<const Step> steps) {
  auto snapshot = snapshots_.current()->with(change_of(steps), params_, options_);
  if (!snapshot) return false;
  snapshots_.publish(std::move(*snapshot));
  for (const Step& step : steps) left_out_.erase(step.id);
  return true;
}

// Whether the steps take nothing out of force that a policy which is left out might have waited for. Tenants
// wait for each other only where there are too many policies in all.
bool PolicyCatalog::frees_nothing(std::span<const Step> steps) const {
  if (is_full()) return false;
  std::map<std::string_view, const Policy*> last_of;  // of those left out, by tenant
  for (const auto& [id, each] : left_out_)
    if (!from_files_.contains(id)) last_of[each.policy.tenant] = &each.policy;  // ids ascend
  const auto now = snapshots_.current();
  return std::ranges::none_of(steps, [&](const Step& step) {
    const CompiledPolicy* const old = now->find(step.id);
    if (!old || last_of.empty()) return false;
    if (old->source.tenant.empty() && !last_of.rbegin()->first.empty()) return true;
    const auto last = last_of.find(old->source.tenant);
    return last != last_of.end() && precedes(old->source, *last->second);
  });
}

bool PolicyCatalog::is_full() const {
  const auto now = snapshots_.current();
  return now->policies().size() >= now->policy_indexes()->in_force_max();
}

// Puts those policies into force that fit one after the other: all that `concerns` names, beside the rest.
// REQUIRES: it names all policies that may have to make room for each other, except for those for any tenant
// that stay as they are.
Result<void> PolicyCatalog::compete(std::span<const Step> steps, const Concerns& concerns) {
  const auto before = snapshots_.current();
  std::unordered_set<std::string_view> changed;
  for (const Step& step : steps) changed.insert(step.id);
  std::vector<Policy> others;
  for (const Policy* policy : policies_of(*before)) {
    const bool is_concerned = concerns(*policy);
    const bool stays = from_files_.contains(policy->id) || (!is_concerned && !changed.contains(policy->id));
    if (stays && (is_concerned || policy->tenant.empty())) others.push_back(*policy);
  }
  std::vector<Policy> rivals = of_ledger([&](const Policy& policy) SLUICE_REQUIRES(mutex_) {
    return !changed.contains(policy.id) && !from_files_.contains(policy.id) && concerns(policy);
  });
  PolicyChange change;
  for (const Step& step : steps)
    if (step.policy)
      rivals.push_back(*step.policy);
    else
      change.remove.push_back(step.id);
  auto refused = refused_beside(std::move(others), rivals);
  for (const Policy& policy : rivals) {
    const CompiledPolicy* const now = before->find(policy.id);
    if (refused.contains(policy.id))
      change.remove.push_back(policy.id);
    else if (!now || now->source != policy)
      change.put.push_back(policy);
  }
  auto snapshot = before->with(change, params_, options_);
  if (!snapshot) {
    // Candidates are not rivals: they make room, and RolloutController puts them back where they fit.
    for (const Policy& policy : rivals)
      if (const CompiledPolicy* const now = before->find(policy.id);
          now && now->candidate && now->source == policy && !refused.contains(policy.id))
        change.put.push_back(policy);
    snapshot = SLUICE_TRY(before->with(std::move(change), params_, options_));
  }
  snapshots_.publish(std::move(*snapshot));
  for (const Step& step : steps) left_out_.erase(step.id);
  for (Policy& policy : rivals) {
    const std::string id = policy.id;
    if (const auto why = refused.find(id); why != refused.end())
      left_out_.insert_or_assign(id, LeftOut{std::move(policy), std::move(why->second.message)});
    else
      left_out_.erase(id);
  }
  return {};
}

// Tried on a copy: a snapshot that with() makes shares its indexes with the one in force, and must be
// published.
std::map<std::string, Error> PolicyCatalog::refused_beside(std::vector<Policy> others,
                                                           std::vector<Policy>& rivals) const {
  const auto indexes = std::make_shared<PolicyIndexes>(
      kWithdrawnIndexesKept, snapshots_.current()->policy_indexes()->in_force_max());
  ParamsDraft params(params_);
  std::map<std::string, Error> refused;
  CompileOptions in_force = options_;
  in_force.by_operator = true;  // they have their numbers
  std::ranges::sort(rivals, precedes);
  auto start = Snapshot::empty(indexes)->with({.put = std::move(others)}, params, in_force);
  if (start) Trial(std::move(*start), params, options_).take(rivals, refused);
  return refused;
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

#include "policy/catalog.h"

#include <span>
#include <utility>

#include "policy/mr_entry.h"

namespace sluice {
namespace {

using Step = PolicyCatalog::Step;

// So many can be looked at one by one.
constexpr std::size_t kFewSteps = 1000;

std::string position(std::size_t i) { return "policies[" + std::to_string(i) + "].id"; }

Error of_a_file(const std::string& id, std::string field) {
  return {ErrorCode::kConflict, "policy \"" + id + "\" comes from a file; change it there", std::move(field)};
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

// Finds out, away from the board, which steps can be taken one after the other: all at once; if that cannot
// be, each half by itself, until only those are left out that stand in the way.
class StepTrial {
 public:
  StepTrial(std::shared_ptr<const Snapshot> start, ParamsTable& params, const CompileOptions& options)
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
  ParamsTable& params_;
  const CompileOptions& options_;
};

}  // namespace

Result<void> PolicyCatalog::replace_files(std::vector<Policy> policies, EnvoyDomains envoy_domains) {
  const std::lock_guard lock(mutex_);
  const auto before = board_.current();
  PolicyChange change;
  std::unordered_set<std::string> ids;
  MrFirsts& mr_firsts = change.mr_firsts.emplace();
  for (std::size_t i = 0; i < policies.size(); ++i) {
    const CompiledPolicy* const known = before->find(policies[i].id);
    if (known && !from_files_.contains(policies[i].id))
      return std::unexpected(
          Error{ErrorCode::kConflict,
                "the id \"" + policies[i].id +
                    "\" belongs to a policy made by the API; choose another, or delete that one",
                position(i)});
    ids.insert(policies[i].id);
    if (is_mr_entry(policies[i])) mr_firsts.try_emplace(policies[i].tenant, policies[i].id);
    if (!known || known->source != policies[i]) change.put.push_back(std::move(policies[i]));
  }
  change.envoy_domains = std::move(envoy_domains);
  for (const std::string& id : from_files_)
    if (!ids.contains(id)) change.remove.push_back(id);
  auto snapshot = before->with(std::move(change), params_, options_);
  if (!snapshot) return std::unexpected(std::move(snapshot.error()));
  from_files_ = std::move(ids);
  board_.publish(std::move(*snapshot));
  return {};
}

std::string on_its_way_text(const std::string& id) {
  return "policy \"" + id + "\" has a rollout under way; abort or finish that first, at /v1/policies/" + id +
         "/rollout";
}

Result<void> PolicyCatalog::refuse_file_policies(const PolicyChange& change) const {
  for (std::size_t i = 0; i < change.put.size(); ++i)
    if (from_files_.contains(change.put[i].id))
      return std::unexpected(of_a_file(change.put[i].id, position(i)));
  for (const std::string& id : change.remove)
    if (from_files_.contains(id)) return std::unexpected(of_a_file(id, ""));
  return {};
}

Result<void> PolicyCatalog::refuse_policies_on_their_way(const PolicyChange& change) const {
  const auto snapshot = board_.current();
  const auto refuse = [](const std::string& id, std::string field) {
    return std::unexpected(Error{ErrorCode::kConflict, on_its_way_text(id), std::move(field)});
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
    if (candidate_of(id)) return refuse(id, "");
  return {};
}

Result<PolicyChange> PolicyCatalog::change_with(Candidate candidate) const {
  const std::string& id = candidate.policy.id;
  const auto snapshot = board_.current();
  const CompiledPolicy* const policy = snapshot->find(id);
  if (!policy) return std::unexpected(Error{ErrorCode::kNotFound, "there is no policy \"" + id + '"', ""});
  PolicyChange change;
  change.put.push_back(policy->source);
  if (auto allowed = refuse_file_policies(change); !allowed) return std::unexpected(allowed.error());
  change.candidates.push_back(std::move(candidate));
  return change;
}

Result<void> PolicyCatalog::put_candidate(Candidate candidate) {
  const std::lock_guard lock(mutex_);
  auto change = change_with(std::move(candidate));
  if (!change) return std::unexpected(std::move(change.error()));
  auto snapshot = board_.current()->with(std::move(*change), params_, options_);
  if (!snapshot) return std::unexpected(std::move(snapshot.error()));
  board_.publish(std::move(*snapshot));
  return {};
}

Result<void> PolicyCatalog::try_candidate(Candidate candidate) const {
  const std::lock_guard lock(mutex_);
  auto change = change_with(std::move(candidate));
  if (!change) return std::unexpected(std::move(change.error()));
  return board_.current()->check(std::move(*change), params_, options_);
}

Result<void> PolicyCatalog::remove_candidate(const std::string& id) {
  const std::lock_guard lock(mutex_);
  const auto before = board_.current();
  const CompiledPolicy* const policy = before->find(id);
  if (!policy || !policy->candidate) return {};
  PolicyChange change;
  change.put.push_back(policy->source);
  auto snapshot = before->with(std::move(change), params_, options_);
  if (!snapshot) return std::unexpected(std::move(snapshot.error()));
  board_.publish(std::move(*snapshot));
  return {};
}

Result<void> PolicyCatalog::change(PolicyChange change) {
  const std::lock_guard lock(mutex_);
  if (auto allowed = refuse_file_policies(change); !allowed) return allowed;
  auto snapshot = board_.current()->with(std::move(change), params_, options_);
  if (!snapshot) return std::unexpected(std::move(snapshot.error()));
  board_.publish(std::move(*snapshot));
  return {};
}

// The outcome is the same without this, but takes as long as to compile all policies: and whatever had a
// problem once comes again with every change.
void PolicyCatalog::leave_out_hopeless(std::vector<Step>& steps, std::map<std::string, Error>& errors) const {
  const auto now = board_.current();
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

// As if nothing had been in force under these ids. Tried on a copy: what with() makes of the snapshot in
// force has its numbers in common with it, and is meant to be published.
void PolicyCatalog::leave_out(std::vector<Step>& steps, std::map<std::string, Error>& errors) const {
  std::unordered_set<std::string_view> ids;
  for (const Step& step : steps) ids.insert(step.id);
  std::vector<Policy> others;
  board_.current()->policies().for_each([&](const std::shared_ptr<const CompiledPolicy>& policy) {
    if (!ids.contains(policy->name())) others.push_back(policy->source);
  });
  const auto numbers =
      std::make_shared<PolicyNumbers>(kWithdrawnNumbersKept, board_.current()->numbers()->in_force_max());
  auto start = Snapshot::empty(numbers)->with({.put = std::move(others)}, params_, options_);
  if (!start) return;
  std::map<std::string, Error> refused;
  StepTrial(std::move(*start), params_, options_).take(steps, refused);
  for (Step& step : steps)
    if (refused.contains(step.id)) step.policy.reset();
  errors.merge(refused);
}

std::map<std::string, Error> PolicyCatalog::change_in_order(std::vector<Step> steps) {
  const std::lock_guard lock(mutex_);
  std::map<std::string, Error> errors;
  std::erase_if(steps, [&](const Step& step) {
    if (!from_files_.contains(step.id)) return false;
    if (step.policy) errors[step.id] = of_a_file(step.id, "");
    return true;
  });
  const auto before = board_.current();
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
    board_.publish(std::move(*snapshot));
  else
    for (const Step& step : steps) errors.try_emplace(step.id, snapshot.error());
  return errors;
}

Result<void> PolicyCatalog::try_change(PolicyChange change) const {
  const std::lock_guard lock(mutex_);
  if (auto allowed = refuse_file_policies(change); !allowed) return allowed;
  if (auto allowed = refuse_policies_on_their_way(change); !allowed) return allowed;
  return board_.current()->check(std::move(change), params_, options_);
}

bool PolicyCatalog::is_from_file(std::string_view id) const {
  const std::lock_guard lock(mutex_);
  return from_files_.contains(std::string(id));
}

}  // namespace sluice

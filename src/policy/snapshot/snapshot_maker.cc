// Builds a snapshot from the one before it.
#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "base/try.h"
#include "policy/matching/tenant_policies.h"
#include "policy/snapshot/conflicts.h"
#include "policy/snapshot/limits_per_request.h"
#include "policy/snapshot/snapshot.h"

namespace sluice {
namespace {

Error in_policy(std::size_t position, Error error) {
  const std::string name = "policies[" + std::to_string(position) + "]";
  error.field = error.field.empty() ? name : name + '.' + error.field;
  return error;
}

Error too_many_policies(std::size_t max) {
  return {ErrorCode::kInvalidArgument, "more than " + std::to_string(max) + " policies would be in force",
          "id"};
}

}  // namespace

// Builds one snapshot; used once. Nothing that others see changes before finish().
class Snapshot::Maker {
 public:
  // The change is applied to `base`; `before` has the versions in force.
  Maker(const Snapshot& base, const Snapshot& before, ParamsTable& params, const CompileOptions& options)
      : base_(base),
        before_(before),
        params_(params),
        options_(options),
        made_(new Snapshot(base)),
        by_id_(base.by_id_),
        tenants_(base.tenants_),
        users_(base.users_) {}

  // Whether the snapshot can be built.
  Result<void> check(PolicyChange change) {
    SLUICE_TRY(compile_all(std::move(change.put)));
    SLUICE_TRY(add_candidates(std::move(change.candidates)));
    for (const std::string& id : change.remove)
      if (const auto* old = base_.by_id_.find_pointer(id);
          old && !position_of_.contains(id) && take_out(*old))
        withdrawn_.push_back((*old)->index);
    const std::size_t max = made_->indexes_->in_force_max();
    if (!put_.empty() && by_id_.map().size() + put_.size() > max)
      return std::unexpected(in_policy(put_.size() - 1, too_many_policies(max)));
    SLUICE_TRY(rebuild_tenants());
    SLUICE_TRY(check_limits_per_request());
    if (change.envoy_domains)
      made_->envoy_domains_ = std::make_shared<const EnvoyDomains>(std::move(*change.envoy_domains));
    if (change.multi_rate_firsts)
      made_->multi_rate_firsts_ =
          std::make_shared<const MultiRateFirsts>(std::move(*change.multi_rate_firsts));
    return change_users(change);
  }

  Result<std::shared_ptr<const Snapshot>> make(PolicyChange change) {
    SLUICE_TRY(check(std::move(change)));
    give_indexes();
    return finish();
  }

 private:
  Result<void> compile_all(std::vector<Policy> policies) {
    put_.reserve(policies.size());
    for (std::size_t i = 0; i < policies.size(); ++i) {
      const std::string id = policies[i].id;
      if (!position_of_.emplace(id, i).second)
        return std::unexpected(
            in_policy(i, {ErrorCode::kInvalidArgument, "the id \"" + id + "\" is taken", "id"}));
      auto compiled = compile_policy(std::move(policies[i]), params_, options_);
      if (!compiled) return std::unexpected(in_policy(i, std::move(compiled.error())));
      if (const auto* old = base_.by_id_.find_pointer(id)) take_out(*old);
      touched_.insert((*compiled)->source.tenant);
      made_->rollouts_ += (*compiled)->has_rollout;
      made_->always_ += (*compiled)->always;
      put_.push_back(std::move(*compiled));
    }
    return {};
  }

  Result<void> add_candidates(std::vector<Candidate> candidates) {
    for (Candidate& each : candidates) {
      const std::size_t i = position_of_.at(each.policy.id);
      auto added = add_candidate(*put_[i], std::move(each), params_, options_);
      if (!added) return std::unexpected(in_policy(i, std::move(added.error())));
      candidates_.push_back(std::move(*added));
    }
    return {};
  }

  // False if it was already taken out: a change may name a policy twice.
  bool take_out(const Pointer& old) {
    if (!out_.insert(old.get()).second) return false;
    touched_.insert(old->source.tenant);
    made_->rollouts_ -= old->has_rollout;
    made_->always_ -= old->always;
    by_id_.erase(old->source.id);
    return true;
  }

  // The list after the change: a replaced policy keeps its place, if it stays in the list; new ones come
  // last. `belongs` selects the new ones for this list.
  template <class Belongs>
  std::vector<Pointer> changed(std::span<const Pointer> old, std::span<const std::size_t> new_ones,
                               const Belongs& belongs) const {
    std::vector<Pointer> list;
    std::set<std::size_t> placed;
    list.reserve(old.size() + new_ones.size());
    for (const Pointer& each : old) {
      if (!out_.contains(each.get())) {
        list.push_back(each);
      } else if (const auto put = position_of_.find(each->source.id);
                 put != position_of_.end() && belongs(*put_[put->second])) {
        list.push_back(put_[put->second]);
        placed.insert(put->second);
      }
    }
    for (const std::size_t i : new_ones)
      if (belongs(*put_[i]) && !placed.contains(i)) list.push_back(put_[i]);
    return list;
  }

  Result<void> rebuild_tenants() {
    std::map<std::string_view, std::vector<std::size_t>> new_of;
    for (std::size_t i = 0; i < put_.size(); ++i) new_of[put_[i]->source.tenant].push_back(i);
    for (const std::string& tenant : touched_) {
      const TenantPolicies* const old =
          tenant.empty() ? base_.any_tenant_.get() : base_.tenants_.find(tenant);
      auto policies = changed(old ? old->policies() : std::span<const Pointer>(), new_of[tenant],
                              [&](const CompiledPolicy& policy) { return policy.source.tenant == tenant; });
      SLUICE_TRY(check_conflicts(policies));
      auto fresh =
          policies.empty() ? nullptr : std::make_shared<const TenantPolicies>(tenant, std::move(policies));
      if (tenant.empty())
        made_->any_tenant_ = std::move(fresh);
      else if (fresh)
        tenants_.put(std::move(fresh));
      else
        tenants_.erase(tenant);
    }
    return {};
  }

  // The error blames a new policy; if both are new, the second.
  Result<void> check_conflicts(const std::vector<Pointer>& policies) const {
    std::vector<const Policy*> sources;
    for (const Pointer& each : policies) sources.push_back(&each->source);
    for (const Conflict& conflict : find_conflicts(sources)) {
      std::optional<std::size_t> blamed;
      for (const std::size_t at : {conflict.first, conflict.second})
        if (const auto put = position_of_.find(sources[at]->id); put != position_of_.end())
          blamed = std::max(blamed.value_or(0), put->second);
      const ErrorCode code = conflict.field == "id" ? ErrorCode::kInvalidArgument : ErrorCode::kConflict;
      return std::unexpected(in_policy(blamed.value_or(0), {code, conflict.message, conflict.field}));
    }
    return {};
  }

  // Checks the limits per request. Only tenants that the change touches can exceed them, unless policies for
  // any tenant have changed.
  Result<void> check_limits_per_request() {
    static const LimitsPerRequests kNothing;
    const LimitsPerRequests& any = made_->any_tenant_ ? made_->any_tenant_->limits_per_request() : kNothing;
    if (!touched_.contains("")) {
      for (const std::string& tenant : touched_) SLUICE_TRY(fits_together(tenants_.map().find(tenant), any));
      return {};
    }
    for (const bool shadow : {false, true})
      if (auto too_many = find_too_many_limits("", {}, any[shadow]))
        return std::unexpected(blame_last(std::move(*too_many)));
    Result<void> all;
    tenants_.map().for_each([&](const std::shared_ptr<const TenantPolicies>& own) {
      if (all) all = fits_together(own.get(), any);
    });
    return all;
  }

  Result<void> fits_together(const TenantPolicies* own, const LimitsPerRequests& any) const {
    if (!own) return {};
    for (const bool shadow : {false, true})
      if (auto too_many = find_too_many_limits(own->name(), own->limits_per_request()[shadow], any[shadow]))
        return std::unexpected(blame_last(std::move(*too_many)));
    return {};
  }

  // All of them may be unchanged ones; then any new policy is to blame.
  Error blame_last(TooManyLimits too_many) const {
    std::size_t blamed = 0;
    for (const Policy* policy : too_many.policies)
      if (const auto put = policy ? position_of_.find(policy->id) : position_of_.end();
          put != position_of_.end())
        blamed = std::max(blamed, put->second);
    return in_policy(blamed,
                     {ErrorCode::kInvalidArgument, std::move(too_many.message), std::string(too_many.field)});
  }

  Result<void> change_users(PolicyChange& change) {
    for (const std::string& id : change.remove_users) users_.erase(id);
    for (User& user : change.put_users) {
      auto compiled = SLUICE_TRY(compile_user(std::move(user), params_));
      users_.put(std::move(compiled));
    }
    return {};
  }

  void give_indexes() {
    for (const std::shared_ptr<CompiledPolicy>& each : put_) {
      const CompiledPolicy* const old = before_.find(each->source.id);
      each->index = old ? old->index : made_->indexes_->take(*each);
    }
    for (const std::shared_ptr<CompiledCandidate>& each : candidates_) {
      const CompiledPolicy* const old = before_.find(each->policy().source.id);
      each->give_index(old && old->candidate ? old->candidate->policy().index
                                             : made_->indexes_->take(each->policy()));
    }
  }

  std::shared_ptr<const Snapshot> finish() {
    for (std::shared_ptr<CompiledPolicy>& each : put_) {
      made_->indexes_->note(each);
      by_id_.put(each);
    }
    for (const std::shared_ptr<CompiledCandidate>& each : candidates_) made_->indexes_->note(each->pointer());
    made_->by_id_ = std::move(by_id_).finish();
    made_->tenants_ = std::move(tenants_).finish();
    made_->users_ = std::move(users_).finish();
    const auto withdraw_candidate_of = [&](const CompiledPolicy& old) {
      const CompiledPolicy* const now = made_->find(old.source.id);
      if (old.candidate && !(now && now->candidate)) withdrawn_.push_back(old.candidate->policy().index);
    };
    for (const CompiledPolicy* old : out_) withdraw_candidate_of(*old);
    if (&base_ != &before_)
      before_.by_id_.for_each([&](const Pointer& each) {
        if (!made_->find(each->source.id)) withdrawn_.push_back(each->index);
        withdraw_candidate_of(*each);
      });
    for (const std::uint32_t index : withdrawn_) made_->indexes_->withdraw(index);
    return std::move(made_);
  }

  const Snapshot& base_;
  const Snapshot& before_;
  ParamsTable& params_;
  const CompileOptions& options_;
  std::shared_ptr<Snapshot> made_;
  SharedMap<CompiledPolicy>::Editor by_id_;
  SharedMap<TenantPolicies>::Editor tenants_;
  SharedMap<CompiledUser>::Editor users_;
  std::vector<std::shared_ptr<CompiledPolicy>> put_;
  std::vector<std::shared_ptr<CompiledCandidate>> candidates_;
  std::unordered_map<std::string, std::size_t> position_of_;  // in put_
  std::unordered_set<const CompiledPolicy*> out_;             // replaced or removed
  std::vector<std::uint32_t> withdrawn_;                      // indexes
  std::set<std::string> touched_;                             // tenants
};

std::shared_ptr<const Snapshot> Snapshot::empty(std::shared_ptr<PolicyIndexes> indexes) {
  std::shared_ptr<Snapshot> snapshot(new Snapshot);
  snapshot->indexes_ = std::move(indexes);
  return snapshot;
}

Result<std::shared_ptr<const Snapshot>> Snapshot::with(PolicyChange change, ParamsTable& params,
                                                       const CompileOptions& options) const {
  return Maker(*this, *this, params, options).make(std::move(change));
}

Result<void> Snapshot::check(PolicyChange change, ParamsTable& params, const CompileOptions& options) const {
  return Maker(*this, *this, params, options).check(std::move(change));
}

Result<std::shared_ptr<const Snapshot>> Snapshot::compile(std::vector<Policy> policies, ParamsTable& params,
                                                          const CompileOptions& options,
                                                          const Snapshot* before) {
  if (!before) return empty()->with({.put = std::move(policies)}, params, options);
  Snapshot base;
  base.users_ = before->users_;
  base.indexes_ = before->indexes_;
  return Maker(base, *before, params, options).make({.put = std::move(policies)});
}

}  // namespace sluice

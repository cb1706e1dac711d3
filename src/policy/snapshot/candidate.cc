#include "policy/snapshot/candidate.h"

#include <algorithm>
#include <string>
#include <utility>

#include "base/try.h"

namespace sluice {
namespace {

Result<void> check_same_requests(const Policy& policy, const Policy& candidate) {
  const auto differs = [&](std::string field) {
    std::string message = "differs from that of policy \"" + policy.id +
                          "\", so the candidate would apply to other requests; roll out with the same " +
                          field + ", or PUT the policy";
    return invalid(std::move(field), std::move(message));
  };
  if (candidate.id != policy.id) return differs("id");
  if (candidate.tenant != policy.tenant) return differs("tenant");
  if (candidate.resource != policy.resource) return differs("resource");
  if (candidate.always != policy.always) return differs("always");
  if (candidate.rollout != policy.rollout) return differs("rollout");
  return {};
}

void move_counters(std::vector<CompiledLimit>& limits, const KeyHash& away) {
  for (CompiledLimit& limit : limits) {
    limit.identity.high ^= away.high;
    limit.identity.low ^= away.low;
  }
}

}  // namespace

void CompiledCandidate::give_index(std::uint32_t index) {
  policy_->index = index;
  if (comparison_) comparison_->index = index;
}

Result<std::shared_ptr<CompiledCandidate>> add_candidate(CompiledPolicy& policy, Candidate candidate,
                                                         ParamsDraft& params, const CompileOptions& options) {
  if (candidate.policy.version != policy.source.version)
    return std::unexpected(Error{ErrorCode::kStale,
                                 "the candidate was made for version " +
                                     std::to_string(candidate.policy.version) + ", but " +
                                     policy.version_text() + " is in force",
                                 ""});
  SLUICE_TRY(check_same_requests(policy.source, candidate.policy));

  auto made = std::make_shared<CompiledCandidate>();
  made->percent_ = static_cast<unsigned>(candidate.percent);
  made->policy_ = SLUICE_TRY(compile_policy(candidate.policy, params, options));
  made->policy_->is_candidate = true;

  if (candidate.compare) {
    made->comparison_ = SLUICE_TRY(compile_policy(std::move(candidate.policy), params, options));
    made->comparison_->is_candidate = true;
    static const KeyHasher hasher = KeyHasher::from_text("sluice comparison");
    const KeyHash away = hasher(std::to_string(candidate.started_us));
    move_counters(made->comparison_->limits, away);
    for (CompiledTier& tier : made->comparison_->tiers) move_counters(tier.limits, away);
  }

  policy.candidate = made;
  return made;
}

const Policy* largest_version(const CompiledPolicy& policy, bool shadow) {
  const Policy* const own = policy.shadow == shadow ? &policy.source : nullptr;
  if (!policy.candidate || policy.candidate->policy().shadow != shadow) return own;
  const Policy* const other = &policy.candidate->policy().source;
  return own && own->limits.size() >= other->limits.size() ? own : other;
}

}  // namespace sluice

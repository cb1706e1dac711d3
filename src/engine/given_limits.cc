#include "engine/given_limits.h"

#include <boost/container_hash/hash.hpp>
#include <cassert>
#include <utility>

#include "base/limits.h"

namespace sluice {

std::size_t GivenLimits::Hash::operator()(const Numbers& n) const {
  std::size_t seed = 0;
  for (const std::int64_t number : {n.count, n.period_us, n.burst}) boost::hash_combine(seed, number);
  return seed;
}

GivenLimits::GivenLimits(const PolicyBoard& board, ParamsTable& params, Policy policy) : params_(params) {
  assert(policy.limits.size() == 1);
  auto compiled = compile_policy(std::move(policy), nullptr, params, {});
  assert(compiled);
  PolicyNumbers& numbers = *board.current()->numbers();
  (*compiled)->number = numbers.take(**compiled);
  policy_ = std::move(*compiled);
  numbers.note(policy_);
}

Result<const GivenLimit*> GivenLimits::find(Rate rate, std::int64_t burst) {
  const Numbers numbers{rate.count, rate.period_us, burst};
  if (const auto found = known_.find(numbers); found != known_.end()) [[likely]]
    return found->second.get();
  return add(numbers);
}

Result<const GivenLimit*> GivenLimits::add(const Numbers& numbers) {
  const auto params =
      checked_limit_params(Algorithm::kGcra, {numbers.count, numbers.period_us}, numbers.burst);
  if (!params) return std::unexpected(params.error());
  const ParamsId id = known_.size() < kGivenLimitsMax ? params_.intern(*params) : 0;
  if (id == 0)
    return std::unexpected(
        Error{ErrorCode::kUnavailable, "there are too many different limits; use fewer, or policies", ""});
  auto limit = std::make_unique<const GivenLimit>(GivenLimit{policy_.get(), id, &params_[id]});
  return known_.emplace(numbers, std::move(limit)).first->second.get();
}

}  // namespace sluice

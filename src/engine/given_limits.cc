#include "engine/given_limits.h"

#include <boost/container_hash/hash.hpp>
#include <string>

namespace sluice {

std::size_t GivenLimits::Hash::operator()(const Numbers& n) const {
  std::size_t seed = static_cast<std::size_t>(n.algorithm);
  for (const std::int64_t number : {n.count, n.period_us, n.burst}) boost::hash_combine(seed, number);
  return seed;
}

Result<GivenNumbers> GivenLimits::find(Algorithm algorithm, const Rate& rate,
                                       std::optional<std::int64_t> burst) {
  const Numbers wanted{algorithm, rate.count, rate.period_us, burst.value_or(-1)};
  const std::lock_guard lock(mutex_);
  auto known = known_.find(wanted);
  if (known == known_.end()) {
    const auto numbers = checked_limit_params(algorithm, rate, burst);
    if (!numbers) return std::unexpected(numbers.error());
    const ParamsId id = known_.size() < distinct_max_ ? params_.intern(*numbers) : 0;
    if (id == 0)
      return invalid("", "requests have brought more than " + std::to_string(known_.size()) +
                             " different limits along; put limits into policies");
    known = known_.emplace(wanted, id).first;
  }
  return GivenNumbers{known->second, &params_[known->second]};
}

}  // namespace sluice

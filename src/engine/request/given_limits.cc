#include "engine/request/given_limits.h"

#include <boost/container_hash/hash.hpp>

namespace sluice {

std::size_t GivenLimits::Hash::operator()(const GivenLimit& limit) const {
  std::size_t seed = static_cast<std::size_t>(limit.algorithm);
  for (const std::int64_t number : {limit.rate.count, limit.rate.period_us, limit.burst.value_or(-1)})
    boost::hash_combine(seed, number);
  return seed;
}

std::optional<GivenNumbers> GivenLimits::find(const GivenLimit& limit) const {
  const std::lock_guard lock(mutex_);
  const auto known = known_.find(limit);
  if (known == known_.end()) return std::nullopt;
  return numbers(known->second);
}

bool GivenLimits::has_room(std::size_t brought) const {
  const std::size_t by_others = known_.size() - brought;
  return brought < (bounds_.distinct_max - by_others) / bounds_.share;
}

Result<GivenNumbers> GivenLimits::add(const GivenLimit& limit, std::string_view owner) {
  const auto checked = checked_limit_params(limit.algorithm, limit.rate, limit.burst);
  if (!checked) return std::unexpected(checked.error());
  const std::lock_guard lock(mutex_);
  if (const auto known = known_.find(limit); known != known_.end()) return numbers(known->second);
  const auto before = brought_.find(owner);
  const std::size_t brought = before == brought_.end() ? 0 : before->second;
  const ParamsId id = has_room(brought) ? params_.intern(*checked) : 0;
  if (id == 0)
    return invalid("", "this caller has sent " + std::to_string(brought) +
                           " different limits, and there is no room for more; put limits into policies");
  known_.emplace(limit, id);
  brought_.insert_or_assign(std::string(owner), brought + 1);
  return numbers(id);
}

}  // namespace sluice

#include "doors/resp/redis_throttle.h"

#include <boost/container_hash/hash.hpp>
#include <charconv>

#include "base/arith.h"
#include "base/limits.h"
#include "base/time_units.h"
#include "base/try.h"
#include "doors/resp/redis_reply.h"
#include "engine/request/own_policy.h"

namespace sluice::doors {
namespace {

bool read_integer(std::string_view text, std::int64_t& number) {
  if (text == "-0") return false;  // as Redis itself has it
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  return error == std::errc() && end == text.data() + text.size();
}

std::unexpected<Error> wrong(std::string sentence) { return invalid("", std::move(sentence)); }

Policy throttle_policy() {
  Policy policy;
  policy.id = kThrottlePolicy;
  policy.limits.push_back({.name = "throttle",
                           .per = {"key"},
                           .params = make_limit_params(Algorithm::kGcra, {1, kSecondUs}, {}).value(),
                           .required = true});
  return policy;
}

std::int64_t ceil_seconds_of_ms(std::int64_t ms) { return ms < 0 ? -1 : ceil_div(ms, 1000); }
std::int64_t seconds(std::int64_t us) { return us < 0 ? -1 : ceil_div(us, kSecondUs); }

}  // namespace

ThrottleLimits::ThrottleLimits(const SnapshotPublisher& snapshots, ParamsTable& params)
    : policy_(compile_own_policy(throttle_policy(), snapshots, params)) {}

std::size_t ThrottleLimits::Hash::operator()(const Numbers& n) const {
  std::size_t seed = 0;
  for (const std::int64_t number : {n.count, n.period_us, n.limit}) boost::hash_combine(seed, number);
  return seed;
}

const GivenNumbers* ThrottleLimits::find(const Throttle& throttle) const {
  const auto known = known_.find(Numbers(throttle));
  return known == known_.end() ? nullptr : &known->second;
}

void ThrottleLimits::keep(const Throttle& throttle, const GivenNumbers& numbers) {
  known_.emplace(Numbers(throttle), numbers);
}

Result<void> check_throttle_key(std::string_view key) {
  if (key.empty()) return wrong("the key is empty");
  if (key.size() > kKeyBytesMax)
    return wrong("the key is longer than " + std::to_string(kKeyBytesMax) + " bytes");
  return {};
}

Result<Throttle> read_throttle(std::span<const std::string_view> arguments) {
  if (arguments.size() != 4 && arguments.size() != 5)
    return wrong("wrong number of arguments for 'cl.throttle' command");
  Throttle throttle;
  throttle.key = arguments[0];
  std::int64_t max_burst = 0, period_s = 0;
  if (!read_integer(arguments[1], max_burst) || !read_integer(arguments[2], throttle.rate.count) ||
      !read_integer(arguments[3], period_s) ||
      (arguments.size() == 5 && !read_integer(arguments[4], throttle.quantity)))
    return wrong("value is not an integer or out of range");
  SLUICE_TRY(check_throttle_key(throttle.key));
  if (max_burst < 0 || max_burst >= kRateMax) return wrong("max_burst is out of range");
  if (throttle.rate.count <= 0 || throttle.rate.count > kRateMax) return wrong("count is out of range");
  if (period_s <= 0 || period_s > kPeriodUsMax / kSecondUs) return wrong("period is out of range");
  if (throttle.quantity < 0 || throttle.quantity > kCostMax) return wrong("quantity is out of range");
  throttle.limit = max_burst + 1;
  throttle.rate.period_us = period_s * kSecondUs;
  return throttle;
}

void write_throttle(const Throttle& throttle, const Decision& decision, std::string& out) {
  // No limit was evaluated if the big red switch is open or the store is unreachable.
  const ChargeResult* const result = decision.tightest ? decision.tightest->result : nullptr;
  redis_reply::array(out, 5);
  redis_reply::integer(out, decision.allowed ? 0 : 1);
  redis_reply::integer(out, throttle.limit);
  redis_reply::integer(out, result ? result->outcome.remaining : throttle.limit);
  redis_reply::integer(out, decision.allowed ? -1 : ceil_seconds_of_ms(decision.retry_after_ms()));
  redis_reply::integer(out, result ? seconds(result->outcome.reset_after_us) : 0);
}

}  // namespace sluice::doors

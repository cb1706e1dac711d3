#include "admin/self_limits.h"

#include <cassert>

#include "base/limits/control_limits.h"
#include "base/time_units.h"
#include "doors/http/problem.h"
#include "telemetry/prometheus.h"

namespace sluice::admin {
namespace {

constexpr MemoryCountersOptions kMemory{.bytes_max = 16u << 20, .shards = 0};
constexpr std::string_view kRead = "admin.read", kWrite = "admin.write", kBytes = "admin.bytes",
                           kReset = "admin.reset";

// A sliding log knows each call, so the limit holds for any minute, not just for minutes of the clock.
Policy built_in(std::string_view id, std::int64_t per_minute) {
  Policy policy;
  policy.id = id;
  policy.resource = "/" + policy.id;  // keeps the two policies from matching the same requests
  policy.limits.push_back(
      {.name = "minute",
       .per = {"key"},
       .params = make_limit_params(Algorithm::kSlidingLog, {per_minute, kMinuteUs}, {}).value()});
  return policy;
}

Policy built_in_bytes() {
  Policy policy;
  policy.id = kBytes;
  policy.resource = "/" + policy.id;
  policy.limits.push_back(
      {.name = "hour",
       .per = {"key"},
       .params =
           make_limit_params(Algorithm::kTokenBucket, {kTenantWriteKibPerHour, 60 * kMinuteUs}, {}).value()});
  return policy;
}

std::string_view key_of(const control::Principal& principal) {
  return std::string_view(principal.name).substr(0, kKeyBytesMax);
}

Decision check_bytes(Engine& engine, const control::Principal& principal, std::size_t bytes) {
  const auto kib = static_cast<std::int64_t>(bytes >> 10) + 1;
  auto decision = engine.check({.policy_id = kBytes, .key = key_of(principal), .cost = kib});
  assert(decision);
  return *std::move(decision);
}

}  // namespace

SelfLimits::SelfLimits(const Clock& clock, const PerMinute& limits)
    : clock_(clock),
      memory_(clock, params_, kMemory),
      store_(memory_, clock),
      of_control_plane_({store_, snapshots_, hasher_, clock_, totals_}) {
  snapshots_.publish(Snapshot::compile({built_in(kRead, limits.reads), built_in(kWrite, limits.writes),
                                        built_in(kReset, limits.writes), built_in_bytes()},
                                       params_)
                         .value());
}

std::string SelfLimits::metrics() {
  DecisionTotals::Sum sum = totals_.sum();
  const auto denied = [&](std::string_view policy) {
    return sum.by_policy[std::string(policy)].fields[DecisionCounters::kDenied];
  };
  PrometheusText text;
  text.family("rate_limiter_admin_denied_total", "counter",
              "Admin API calls denied by the admin's own rate limit.");
  text.sample({{"kind", "read"}}, denied(kRead));
  text.sample({{"kind", "write"}}, denied(kWrite));
  text.sample({{"kind", "bytes"}}, denied(kBytes));
  text.sample({{"kind", "reset"}}, denied(kReset));
  return std::move(text).take();
}

SelfLimiter::SelfLimiter(SelfLimits& limits, doors::HeaderDialects dialects, std::uint64_t seed)
    : engine_({limits.store_, limits.snapshots_, limits.hasher_, limits.clock_, limits.totals_}),
      headers_(dialects, seed) {}

Result<void> SelfLimits::charge_stored(const control::Principal& principal, std::size_t bytes) {
  if (principal.tenants.empty()) return {};
  const auto decision = check_bytes(of_control_plane_, principal, bytes);
  if (decision.allowed) return {};
  return std::unexpected(Error{
      ErrorCode::kOverloaded,
      "this change stores " + std::to_string(bytes >> 10) + " KiB more than were sent, aliases expanded; " +
          principal.name + " may store " + std::to_string(kTenantWriteKibPerHour >> 10) +
          " MiB an hour; try again in " + std::to_string(decision.retry_after_ms()) + " ms",
      ""});
}

Decision SelfLimiter::decide(const control::Principal& principal, Kind kind, std::size_t bytes) {
  auto decision =
      engine_.check({.policy_id = kind == Kind::kRead ? kRead : kWrite, .key = key_of(principal)});
  assert(decision);
  if (!decision->allowed || kind == Kind::kRead || principal.tenants.empty()) return *std::move(decision);
  return check_bytes(engine_, principal, bytes);
}

Result<void> SelfLimiter::admit_reset(const control::Principal& principal) {
  if (principal.tenants.empty()) return {};
  std::string tenants;
  for (const std::string& tenant : principal.tenants) tenants += tenant + ' ';
  const auto decision =
      engine_.check({.policy_id = kReset, .key = std::string_view(tenants).substr(0, kKeyBytesMax)});
  assert(decision);
  if (decision->allowed) return {};
  return std::unexpected(Error{ErrorCode::kOverloaded,
                               "too many resets by admins of these tenants; try again in " +
                                   std::to_string(decision->retry_after_ms()) + " ms",
                               ""});
}

bool SelfLimiter::admit(const control::Principal& principal, Kind kind, std::size_t bytes,
                        net::HttpResponse& response) {
  const Decision decision = decide(principal, kind, bytes);
  if (decision.allowed) return true;
  doors::write_denial(429, decision, response);
  headers_.add(decision, response);
  return false;
}

net::GrpcStatus SelfLimiter::admit(const control::Principal& principal, Kind kind, std::size_t bytes) {
  const Decision decision = decide(principal, kind, bytes);
  if (decision.allowed) return {};
  return {net::GrpcCode::kResourceExhausted,
          "too many admin API calls; try again in " + std::to_string(decision.retry_after_ms()) + " ms",
          {}};
}

}  // namespace sluice::admin

#include "library/redis/redis_limiter.h"

#include <fmt/format.h>

#include <utility>

#include <sluice/open.h>

#include "base/secret/shared_hasher.h"
#include "base/steady_now.h"
#include "library/calls/blocked_call.h"
#include "library/calls/owned_request.h"
#include "library/translation.h"
#include "redis/url/store_url.h"
#include "store/redis/key_prefix.h"

namespace sluice::library {
namespace {

constexpr const char* kWouldWaitForItself =
    "it would wait for itself: in a callback of the library, use check_async() instead of calls that block";

}  // namespace

RedisLimiter::RedisLimiter(std::unique_ptr<FixedPolicies> policies, RedisLoop::Settings settings)
    : loop_(std::move(policies), std::move(settings)) {}

// The request lives in the caller's frame until the answer is there, so nothing is copied.
Answer RedisLimiter::check(const Request& request) {
  if (closing_.is_closed()) return closed_answer();
  if (loop_.is_own_thread()) return invalid_answer(kWouldWaitForItself);
  BlockedCall<Answer> call;
  const bool is_posted = loop_.post([this, &request, &call] {
    loop_.check(request, [&call](const Answer& answer) { call.give(answer); });
  });
  return is_posted ? call.wait() : closed_answer();
}

void RedisLimiter::check_async(const Request& request, Done done) {
  if (closing_.is_closed()) return done(closed_answer());
  if (loop_.is_own_thread()) return loop_.check(request, std::move(done));
  const auto told = std::make_shared<Done>(std::move(done));
  const bool is_posted = loop_.post([this, owned = std::make_unique<const OwnedRequest>(request), told] {
    loop_.check(owned->get(), std::move(*told));
  });
  if (!is_posted) (*told)(closed_answer());
}

ResetAnswer RedisLimiter::reset(const Request& request) {
  if (closing_.is_closed()) return closed_reset();
  if (loop_.is_own_thread()) return {-1, kWouldWaitForItself};
  BlockedCall<ResetAnswer> call;
  const bool is_posted = loop_.post([this, &request, &call] {
    loop_.reset(request, [&call](const ResetAnswer& answer) { call.give(answer); });
  });
  return is_posted ? call.wait() : closed_reset();
}

void RedisLimiter::close() {
  closing_.close();
  loop_.stop();
}

}  // namespace sluice::library

namespace sluice {

Opened open_redis(const RedisOptions& options) {
  auto target = redis::parse_store_url(options.url);
  if (!target) return {nullptr, fmt::format("url: {}", target.error().message)};
  auto policies = library::FixedPolicies::load(options.policies, options.nodes);
  if (!policies) return {nullptr, std::move(policies.error())};
  auto limiter = std::make_unique<library::RedisLimiter>(
      std::move(*policies),
      library::RedisLoop::Settings{
          .target = std::move(*target),
          .key_prefix = options.key_prefix.empty() ? std::string(kDefaultKeyPrefix) : options.key_prefix,
          .hasher = shared_hasher(options.key_secret),
          .default_tenant = options.default_tenant,
          .log = options.log});
  limiter->wait_connected(steady_now() + options.connect_timeout);
  return {std::move(limiter), ""};
}

}  // namespace sluice

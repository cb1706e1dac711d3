#include "library/memory/memory_limiter.h"

#include <utility>

#include "library/translation.h"

namespace sluice::library {

MemoryLimiter::MemoryLimiter(std::unique_ptr<FixedPolicies> policies, Settings settings)
    : policies_(std::move(policies)),
      settings_(std::move(settings)),
      counters_(clock_, policies_->params(), {.bytes_max = settings_.memory_bytes}),
      store_(counters_, clock_),
      engines_({.store = store_,
                .policies = policies_->in_force(),
                .hasher = hasher_,
                .clock = clock_,
                .totals = totals_,
                .local = &counters_,
                .default_tenant = settings_.default_tenant}) {}

Answer MemoryLimiter::check(const Request& request) {
  if (closing_.is_closed()) [[unlikely]]
    return closed_answer();
  const EngineRequest asked(request);
  const EnginePool::Use engine(engines_);
  return answer_of(engine->check(asked.get()), *policies_);
}

ResetAnswer MemoryLimiter::reset(const Request& request) {
  if (closing_.is_closed()) return closed_reset();
  const EngineRequest asked(request);
  const EnginePool::Use engine(engines_);
  return answer_of(engine->reset(asked.get()));
}

}  // namespace sluice::library

namespace sluice {

Opened open_memory(const MemoryOptions& options) {
  auto policies = library::FixedPolicies::load(options.policies);
  if (!policies) return {nullptr, std::move(policies.error())};
  return {std::make_unique<library::MemoryLimiter>(
              std::move(*policies),
              library::MemoryLimiter::Settings{options.default_tenant, options.memory_bytes}),
          ""};
}

}  // namespace sluice

#pragma once

#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/time_units.h"
#include "engine/engine.h"
#include "engine/hot/hot_keys.h"
#include "store/memory/memory_counters.h"
#include "store/memory/memory_store.h"

namespace sluice::testing {

inline constexpr std::int64_t kNowUs = 1'800'000'000 * kSecondUs;

// A limit for a test; 10 per second by default.
struct LimitSpec {
  std::string name = "burst";
  std::vector<std::string> per = {"key"};
  Rate rate = {10, kSecondUs};
  Algorithm algorithm = Algorithm::kGcra;
  std::optional<std::int64_t> burst = {};
};

inline Limit make_limit(const LimitSpec& spec) {
  return {.name = spec.name,
          .per = spec.per,
          .params = make_limit_params(spec.algorithm, spec.rate, spec.burst).value()};
}

inline Policy make_policy(std::string id, std::vector<Limit> limits) {
  Policy policy;
  policy.id = std::move(id);
  policy.limits = std::move(limits);
  return policy;
}

// A whole engine on a clock that the test moves.
class EngineFixture : public ::testing::Test {
 protected:
  void publish(std::vector<Policy> policies) {
    auto snapshot = Snapshot::compile(std::move(policies), params, {}, snapshots.current().get());
    ASSERT_TRUE(snapshot) << snapshot.error().message;
    snapshots.publish(*snapshot);
  }

  Decision check(const CheckRequest& request) {
    auto decision = engine.check(request);
    if (!decision) ADD_FAILURE() << decision.error().message;
    return decision.value_or(Decision{});
  }

  ManualClock clock{kNowUs};
  ParamsTable params;
  MemoryCounters counters{clock, params, {}};
  SnapshotPublisher snapshots;
  KeyHasher hasher = KeyHasher::from_text("test");
  DecisionTotals totals;
  MemoryStore store{counters, clock};
  HotKeys hot_keys{1'000};
  HotSketch hot{hot_keys, hasher, 1, true};
  Engine engine{{.store = store,
                 .policies = snapshots,
                 .hasher = hasher,
                 .clock = clock,
                 .totals = totals,
                 .hot = &hot}};
};

}  // namespace sluice::testing

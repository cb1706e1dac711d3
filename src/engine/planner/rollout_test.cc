#include "engine/planner/rollout.h"

#include <string>

#include "engine/testing/engine_fixture.h"

namespace sluice::testing {
namespace {

class RolloutTest : public EngineFixture {
 protected:
  void publish_with(const Rollout& rollout) {
    Policy careful = make_policy("new", {make_limit({.rate = {1, kSecondUs}})});
    careful.resource = "/x";
    careful.rollout = rollout;
    publish({careful, make_policy("old", {make_limit({.rate = {100, kSecondUs}})})});
  }
  bool gets_new(const std::string& key) {
    return check({.resource = "/x", .key = key}).policy->source.id == "new";
  }
};

TEST_F(RolloutTest, BeforeValidFromTheLessSpecificPolicyApplies) {
  publish_with({.valid_from_us = kNowUs + kSecondUs});
  EXPECT_FALSE(gets_new("u"));
  clock.advance(kSecondUs);
  EXPECT_TRUE(gets_new("u"));
}

TEST_F(RolloutTest, PercentTakesAboutThatShareAndKeysNeverFlipBack) {
  std::vector<bool> in_before(2000, false);
  for (const int percent : {0, 1, 10, 50, 100}) {
    publish_with({.percent = percent});
    int in = 0;
    for (std::size_t i = 0; i < in_before.size(); ++i) {
      const bool now = gets_new("user" + std::to_string(i));
      EXPECT_TRUE(now || !in_before[i]) << "key " << i << " fell out at " << percent << " %";
      in_before[i] = now;
      in += now;
    }
    EXPECT_NEAR(in, 20 * percent, percent == 0 || percent == 100 ? 0 : 80) << percent;
  }
}

}  // namespace
}  // namespace sluice::testing

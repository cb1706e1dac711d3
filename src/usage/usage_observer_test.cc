#include "usage/usage_observer.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "engine/testing/engine_fixture.h"
#include "usage/event_encoder.h"

namespace sluice::usage {
namespace {

using namespace sluice::testing;

class UsageObserverTest : public EngineFixture {
 protected:
  // The events so far, as they would be sent, without what is the same for all.
  std::vector<std::string> events() {
    std::vector<std::string> all;
    QueuedEvent event;
    while (queue.pop(event)) {
      std::string text;
      EventEncoder("n", nullptr).append(text, event, 0);
      all.push_back(text.substr(text.find("\"kind\"")));
    }
    queue.release();
    return all;
  }

  EventQueue queue{64u << 10};
  UsageObserver observer{queue};
  DecisionObserver* const observers[1] = {&observer};
  Engine observed{{.store = store,
                   .policies = snapshots,
                   .hasher = hasher,
                   .clock = clock,
                   .totals = totals,
                   .observers = observers}};
  const std::string ts = "\"ts\":" + std::to_string(kNowUs / 1'000);
};

TEST_F(UsageObserverTest, EveryDecidedCheckIsAnEvent) {
  publish({make_policy("api", {make_limit({.rate = {2, kSecondUs}})})});
  const Dimension dimensions[] = {{"ip", "192.0.2.7"}};
  const CheckRequest request{
      .tenant = "t", .resource = "/r", .key = "ann", .dimensions = dimensions, .cost = 2, .request_id = "r1"};
  ASSERT_TRUE(observed.check(request));
  ASSERT_TRUE(observed.check({.tenant = "t", .resource = "/r", .key = "ann"}));
  const std::string begin = "\"kind\":\"check\"," + ts + R"(,"tenant":"t","policy":"api")";
  const std::vector<std::string> all = events();
  ASSERT_EQ(all.size(), 2u);
  EXPECT_TRUE(all[0].starts_with(begin)) << all[0];
  EXPECT_TRUE(all[0].ends_with(R"("resource":"/r","key":"ann","dimensions":{"ip":"192.0.2.7"},"cost":2,)"
                               R"("allowed":true,"request_id":"r1"})"))
      << all[0];
  EXPECT_TRUE(all[1].ends_with(R"("key":"ann","cost":1,"allowed":false})")) << all[1];
}

TEST_F(UsageObserverTest, LooksAreNoEvents) {
  publish({make_policy("api", {make_limit({})})});
  ASSERT_TRUE(observed.check({.key = "ann", .cost = 0}));
  ASSERT_TRUE(observed.usage({.key = "ann"}));
  ASSERT_FALSE(observed.check({.policy_id = "no.such"}));
  EXPECT_TRUE(events().empty());
}

}  // namespace
}  // namespace sluice::usage

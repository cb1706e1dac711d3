#include "engine/record/decision_record.h"

#include <gmock/gmock.h>

#include "engine/testing/engine_fixture.h"

namespace sluice::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::StartsWith;

KnownDecision of_tenant(const std::string& tenant, std::int64_t at_us) {
  KnownDecision decision;
  decision.place = {at_us, static_cast<std::uint64_t>(at_us)};
  decision.tenant = tenant;
  return decision;
}

std::vector<std::int64_t> times(const FairLog& log, const DecisionQuery& query = {.most = 1'000'000}) {
  std::vector<KnownDecision> found;
  log.collect(query, found);
  std::vector<std::int64_t> at;
  for (const KnownDecision& decision : found) at.push_back(decision.place.at_us);
  std::ranges::sort(at);
  return at;
}

TEST(FairLogTest, ATenantsFloodPushesOutItsOwnOldestOnly) {
  FairLog log(100'000);
  for (int i = 1; i <= 3; ++i) log.add(of_tenant("small", i));
  for (int i = 10; i < 100'000; ++i) log.add(of_tenant("flood", i));
  EXPECT_LE(log.bytes(), 100'000u);
  const std::vector<std::int64_t> kept = times(log);
  EXPECT_EQ(kept.size(), log.size());
  EXPECT_EQ(std::vector(kept.begin(), kept.begin() + 3), (std::vector<std::int64_t>{1, 2, 3}));
  EXPECT_EQ(kept.back(), 99'999);
  EXPECT_GT(kept[3], 90'000);
}

TEST(FairLogTest, TenantsWithoutNumberTakeNoMoreMemory) {
  FairLog log(100'000);
  for (int i = 0; i < 10'000; ++i) log.add(of_tenant("tenant " + std::to_string(i), i));
  EXPECT_LE(log.bytes(), 100'000u);
  EXPECT_GT(log.size(), 10u);
}

TEST(FairLogTest, APageHasTheNewestThatAreOlderThanTheLastPage) {
  FairLog log(1'000'000);
  for (const std::int64_t at : {5, 1, 4, 2, 3}) log.add(of_tenant("t", at));
  EXPECT_THAT(times(log, {.most = 2}), ElementsAre(4, 5));
  EXPECT_THAT(times(log, {.before = DecisionPlace{4, 4}, .most = 2}), ElementsAre(2, 3));
  EXPECT_THAT(times(log, {.since_us = 4}), ElementsAre(4, 5));
}

class DecisionRecordTest : public EngineFixture {
 protected:
  void SetUp() override { publish({make_policy("api", {make_limit({.rate = {1, kSecondUs}})})}); }
  std::vector<std::string> shown(const DecisionRecord& record, const DecisionQuery& query) {
    std::vector<std::string> lines;
    for (const KnownDecision& each : record.list(query))
      lines.push_back(each.tenant + ' ' + each.key + (each.allowed ? " allowed " : " denied ") +
                      std::to_string(each.remaining) + " of " + std::to_string(each.capacity) + ", wait " +
                      std::to_string(each.retry_after_ms) + ", " + each.policy_id + '#' +
                      std::to_string(each.policy_version) + ' ' + each.limit);
    return lines;
  }
};

TEST_F(DecisionRecordTest, KnowsWhatWasDecidedAndWhy) {
  DecisionRecord record({.sample_one_in = 1}, hasher);
  LoopDecisions loop(record);
  DecisionObserver* const observers[] = {&loop};
  Engine engine({.store = store,
                 .policies = snapshots,
                 .hasher = hasher,
                 .clock = clock,
                 .totals = totals,
                 .observers = observers});
  const std::vector<Dimension> dimensions = {{"country", "nz"}, {"api_key", "secret"}};
  const CheckRequest ann{
      .tenant = "shop", .resource = "/r", .key = "ann", .dimensions = dimensions, .request_id = "7"};
  ASSERT_TRUE(engine.check(ann));
  CheckRequest again = ann;
  again.request_id = "8";
  ASSERT_TRUE(engine.check(again));
  ASSERT_TRUE(engine.check({.tenant = "bank", .key = "eve"}));
  EXPECT_THAT(shown(record, {}), ElementsAre("bank eve allowed 0 of 1, wait 0, api#1 burst",
                                             "shop ann denied 0 of 1, wait 1000, api#1 burst",
                                             "shop ann allowed 0 of 1, wait 0, api#1 burst"));
  EXPECT_EQ(shown(record, {.result = DecisionQuery::Result::kDenied}).size(), 1u);
  EXPECT_EQ(shown(record, {.result = DecisionQuery::Result::kAllowed}).size(), 2u);
  EXPECT_THAT(shown(record, {.result = DecisionQuery::Result::kDegraded}), IsEmpty());
  EXPECT_EQ(shown(record, {.key_hash = record.hash_of_key("ann")}).size(), 2u);
  EXPECT_THAT(shown(record, {.policy_id = "other"}), IsEmpty());
  const KnownDecision denied = record.list({.result = DecisionQuery::Result::kDenied}).front();
  EXPECT_EQ(denied.resource, "/r");
  EXPECT_EQ(denied.request_id, "8");
  EXPECT_THAT(denied.dimensions, ElementsAre(std::pair<std::string, std::string>("country", "nz")));
}

TEST_F(DecisionRecordTest, WhereKeysAreHashedNoValueIsKept) {
  DecisionRecord record({.sample_one_in = 1, .shows_values = false}, hasher);
  LoopDecisions loop(record);
  DecisionObserver* const observers[] = {&loop};
  Engine engine({.store = store,
                 .policies = snapshots,
                 .hasher = hasher,
                 .clock = clock,
                 .totals = totals,
                 .observers = observers});
  const std::vector<Dimension> dimensions = {{"country", "nz"}};
  ASSERT_TRUE(engine.check(
      {.tenant = "shop", .resource = "/ann", .key = "ann", .dimensions = dimensions, .request_id = "ann-1"}));
  const std::vector<KnownDecision> found = record.list({.key_hash = record.hash_of_key("ann")});
  ASSERT_EQ(found.size(), 1u);
  EXPECT_THAT(found[0].key, StartsWith("~"));
  EXPECT_EQ(found[0].key.size(), 33u);
  EXPECT_EQ(found[0].resource + found[0].request_id, "");
  EXPECT_THAT(found[0].dimensions, IsEmpty());
}

TEST_F(DecisionRecordTest, LongTextsAreCutAndKeysAreNot) {
  DecisionRecord record({.sample_one_in = 1}, hasher);
  LoopDecisions loop(record);
  const std::string key(256, 'k'), resource = "/" + std::string(254, 'r') + "äääää", value(256, 'v');
  const std::vector<Dimension> dimensions = {{"a", value}, {"b", value}, {"c", value}};
  const AskedTexts asked{.resource = resource, .key = key, .dimensions = dimensions};
  const Decision decision;
  loop.on_decision({.at_us = 1, .asked = asked, .decision = decision});
  const KnownDecision known = record.list({}).front();
  EXPECT_EQ(known.key, key);
  EXPECT_EQ(known.resource, "/" + std::string(254, 'r') + "…") << "not within a character";
  EXPECT_EQ(known.dimensions.size(), 1u);
}

TEST_F(DecisionRecordTest, TheLoopsOfANodeAreListedTogether) {
  DecisionRecord record({.loops = 2}, hasher);
  LoopDecisions one(record), two(record);
  const AskedTexts asked;
  const Decision decision{.allowed = false};
  one.on_decision({.at_us = 1, .asked = asked, .decision = decision});
  two.on_decision({.at_us = 3, .asked = asked, .decision = decision});
  one.on_decision({.at_us = 2, .asked = asked, .decision = decision});
  std::vector<std::int64_t> at;
  for (const KnownDecision& known : record.list({.most = 2})) at.push_back(known.place.at_us);
  EXPECT_THAT(at, ElementsAre(3, 2));
  EXPECT_THAT(record.metrics(), ::testing::HasSubstr("rate_limiter_decisions_recorded_total 3\n"));
  EXPECT_THAT(record.metrics(), ::testing::HasSubstr("rate_limiter_decisions_kept 3\n"));
}

}  // namespace
}  // namespace sluice::testing

#include "engine/failure/failure_rule.h"

#include "engine/testing/engine_fixture.h"

namespace sluice {
namespace {

using testing::make_limit;
using testing::make_policy;
using WithoutAnswer = StoreCall::WithoutAnswer;

class FailureRuleTest : public testing::EngineFixture {
 protected:
  struct Rule {
    OnFailure on_failure = OnFailure::kOpen;
    std::int64_t deadline_us = 10'000;
  };
  std::vector<LimitStatus> limits_of(const std::vector<Rule>& rules) {
    std::vector<LimitStatus> limits;
    for (const Rule& rule : rules) {
      Policy policy = make_policy("p", {make_limit({})});
      policy.on_failure = rule.on_failure;
      policy.deadline_us = rule.deadline_us;
      policies_.push_back(compile_policy(std::move(policy), params, {}).value());
      limits.push_back({.policy = policies_.back().get()});
    }
    return limits;
  }
  WithoutAnswer without_answer(const std::vector<OnFailure>& rules) {
    std::vector<Rule> with_default_time;
    for (const OnFailure rule : rules) with_default_time.push_back({.on_failure = rule});
    return FailureRule::without_answer(limits_of(with_default_time));
  }
  std::int64_t store_time_us(const std::vector<Rule>& rules) {
    return FailureRule::store_time_us(limits_of(rules));
  }

 private:
  std::vector<std::shared_ptr<CompiledPolicy>> policies_;
};

TEST_F(FailureRuleTest, NoLimitIsLiftedBeforeItsOwnDeadline) {
  using enum OnFailure;
  EXPECT_EQ(store_time_us({{kOpen, 50'000}, {kOpen, 1'000}}), 50'000);
  EXPECT_EQ(store_time_us({{kOpen, 1'000}, {kLocal, 50'000}}), 50'000);
}

TEST_F(FailureRuleTest, APolicyThatFailsClosedDeniesAtItsOwnDeadline) {
  using enum OnFailure;
  EXPECT_EQ(store_time_us({{kOpen, 50'000}, {kClosed, 1'000}, {kClosed, 5'000}}), 1'000);
  EXPECT_EQ(store_time_us({{kOpen, 1'000}, {kClosed, 50'000}}), 50'000);
}

TEST_F(FailureRuleTest, OneThatIsClosedDeniesWhereverItStands) {
  EXPECT_EQ(without_answer({OnFailure::kOpen, OnFailure::kOpen}), WithoutAnswer::kPasses);
  EXPECT_EQ(without_answer({OnFailure::kLocal, OnFailure::kOpen}), WithoutAnswer::kUnknown);
  EXPECT_EQ(without_answer({OnFailure::kOpen, OnFailure::kLocal}), WithoutAnswer::kUnknown);
  EXPECT_EQ(without_answer({OnFailure::kLocal, OnFailure::kClosed}), WithoutAnswer::kDenied);
  EXPECT_EQ(without_answer({OnFailure::kClosed, OnFailure::kLocal}), WithoutAnswer::kDenied);
}

}  // namespace
}  // namespace sluice

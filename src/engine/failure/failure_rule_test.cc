#include "engine/failure/failure_rule.h"

#include "engine/testing/limiter_fixture.h"

namespace sluice {
namespace {

using testing::make_limit;
using testing::make_policy;
using WithoutAnswer = StoreCall::WithoutAnswer;

class FailureRuleTest : public testing::LimiterFixture {
 protected:
  WithoutAnswer without_answer(const std::vector<OnFailure>& rules) {
    std::vector<std::shared_ptr<CompiledPolicy>> policies;
    std::vector<LimitStatus> limits;
    for (const OnFailure rule : rules) {
      Policy policy = make_policy("p", {make_limit({})});
      policy.on_failure = rule;
      policies.push_back(compile_policy(std::move(policy), params, {}).value());
      limits.push_back({.policy = policies.back().get()});
    }
    return FailureRule::without_answer(limits);
  }
};

TEST_F(FailureRuleTest, OneThatIsClosedDeniesWhereverItStands) {
  EXPECT_EQ(without_answer({OnFailure::kOpen, OnFailure::kOpen}), WithoutAnswer::kPasses);
  EXPECT_EQ(without_answer({OnFailure::kLocal, OnFailure::kOpen}), WithoutAnswer::kUnknown);
  EXPECT_EQ(without_answer({OnFailure::kOpen, OnFailure::kLocal}), WithoutAnswer::kUnknown);
  EXPECT_EQ(without_answer({OnFailure::kLocal, OnFailure::kClosed}), WithoutAnswer::kDenied);
  EXPECT_EQ(without_answer({OnFailure::kClosed, OnFailure::kLocal}), WithoutAnswer::kDenied);
}

}  // namespace
}  // namespace sluice

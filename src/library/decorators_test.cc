#include <gmock/gmock.h>

#include <sluice/decorators/logging.h>
#include <sluice/decorators/metrics.h>
#include <sluice/decorators/tracing.h>
#include <sluice/open.h>

#include <map>
#include <string>
#include <vector>

#include "base/steady_now.h"

namespace sluice {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Pair;

std::unique_ptr<Limiter> open_three_a_day() {
  return open_memory({.policies = {.text = "policies: [{id: a, limits: [{name: l, per: [key], rate: 3/d, "
                                           "algorithm: fixed_window}]}]"}})
      .limiter;
}

// What every decorator must let through: all forms of a check, and what ends them.
void use_everything(Limiter& limiter) {
  EXPECT_TRUE(limiter.allow("ann"));
  bool is_called = false;
  limiter.check_async({.key = "ann"}, [&](const Answer& answer) { is_called = answer.allowed; });
  EXPECT_TRUE(is_called);
  EXPECT_TRUE(limiter.wait({.key = "ann"}, steady_now()).allowed);
  EXPECT_FALSE(limiter.allow("ann"));
  EXPECT_EQ(limiter.reset({.key = "ann"}).counters, 1);
  EXPECT_EQ(limiter.check({.key = "ann", .cost = -1}).trouble, Trouble::kInvalid);
  limiter.close();
  EXPECT_FALSE(limiter.sleep_until(steady_now() + std::chrono::hours(1)));
  EXPECT_EQ(limiter.check({.key = "ann"}).trouble, Trouble::kClosed);
}

TEST(Decorators, MetricsCountOutcomesAndTimes) {
  MetricsLimiter limiter(open_three_a_day());
  use_everything(limiter);
  EXPECT_THAT(limiter.text(), AllOf(HasSubstr("sluice_checks_total{outcome=\"allowed\"} 3\n"),
                                    HasSubstr("sluice_checks_total{outcome=\"denied\"} 1\n"),
                                    HasSubstr("sluice_checks_total{outcome=\"error\"} 2\n"),
                                    HasSubstr("sluice_check_seconds_bucket{le=\"+Inf\"} 6\n")));
}

TEST(Decorators, LogsSayWhatWasDeniedButNotWhom) {
  std::vector<std::string> lines;
  LoggingLimiter limiter(open_three_a_day(), [&](std::string_view line) { lines.emplace_back(line); });
  use_everything(limiter);
  EXPECT_THAT(lines, ElementsAre(AllOf(HasSubstr("denied by a#1, limit l (3): limited"),
                                       ::testing::Not(HasSubstr("ann"))),
                                 HasSubstr("no decision (denied): cost")));
}

TEST(Decorators, LogsAreBounded) {
  std::vector<std::string> lines;
  LoggingLimiter limiter(open_three_a_day(), [&](std::string_view line) { lines.emplace_back(line); }, 2);
  int denied = 0;
  while (lines.empty() || !lines.back().ends_with("left out)")) denied += !limiter.allow("ann");
  EXPECT_LT(lines.size(), static_cast<std::size_t>(denied));
}

// Records the attributes of every span.
class RecordedSpan final : public TracingLimiter::Span {
 public:
  using Attributes = std::map<std::string, std::string>;
  explicit RecordedSpan(std::vector<Attributes>& ended) : ended_(ended) {}
  ~RecordedSpan() override { ended_.push_back(attributes_); }
  void set(std::string_view name, std::string_view value) override { attributes_[std::string(name)] = value; }

 private:
  std::vector<Attributes>& ended_;
  Attributes attributes_;
};

TEST(Decorators, SpansDescribeTheAnswer) {
  std::vector<RecordedSpan::Attributes> spans;
  TracingLimiter limiter(open_three_a_day(),
                         [&](std::string_view) { return std::make_unique<RecordedSpan>(spans); });
  use_everything(limiter);
  ASSERT_EQ(spans.size(), 6u);
  EXPECT_THAT(spans[3], ElementsAre(Pair("sluice.allowed", "false"), Pair("sluice.limit", "l"),
                                    Pair("sluice.policy", "a#1"), Pair("sluice.reason", "limited"),
                                    Pair("sluice.remaining", "0")));
  EXPECT_THAT(spans[4]["error"], HasSubstr("cost"));
}

}  // namespace
}  // namespace sluice

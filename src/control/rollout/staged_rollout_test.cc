#include "control/rollout/staged_rollout.h"

#include <gtest/gtest.h>

#include "base/time_units.h"

namespace sluice::control {
namespace {

StagedRollout example() {
  StagedRollout rollout;
  rollout.candidate.id = "api.read";
  rollout.candidate.version = 47;
  rollout.candidate.limits = {{.name = "one",
                               .per = {"key"},
                               .params = make_limit_params(Algorithm::kGcra, {5, kSecondUs}, {}).value()}};
  rollout.stages = {{0, 3600 * kSecondUs}, {5, 90 * kSecondUs}, {100, kSecondUs}};
  rollout.compare = true;
  rollout.min_samples = 20;
  rollout.sigmas = 3;
  rollout.stage = 1;
  rollout.started_us = 1'800'000'000'000'001;
  rollout.since_us = 1'800'000'100'500'000;
  return rollout;
}

TEST(StagedRollout, ReadsWhatItWrites) {
  StagedRollout rollout = example();
  EXPECT_EQ(parse_rollout(write_rollout(rollout), "api.read"), rollout);
  for (const RolloutState state :
       {RolloutState::kFinished, RolloutState::kAborted, RolloutState::kRolledBack}) {
    const StagedRollout ended = rollout.ended(state, "because of \"x\"", 1'800'000'200'000'000);
    EXPECT_EQ(parse_rollout(write_rollout(ended), "api.read"), ended);
  }
}

TEST(StagedRollout, GoesStageByStageToTheEnd) {
  const StagedRollout first = [] {
    StagedRollout rollout = example();
    rollout.stage = 0;
    return rollout;
  }();
  const StagedRollout second = first.advanced(7), third = second.advanced(8), last = third.advanced(9);
  EXPECT_EQ(second.percent(), 5);
  EXPECT_EQ(second.since_us, 7);
  EXPECT_EQ(second.due_us(), 7 + 90 * kSecondUs);
  EXPECT_EQ(second.started_us, first.started_us);
  EXPECT_TRUE(third.is_last_stage());
  EXPECT_TRUE(third.is_running());
  EXPECT_EQ(last.state, RolloutState::kFinished);
  EXPECT_EQ(last.percent(), 100);
}

TEST(StagedRollout, OnlyTheEndComesWithThePolicy) {
  const StagedRollout rollout = example();
  const auto step = rollout_drafts(rollout, 3, "advance");
  ASSERT_EQ(step.size(), 1u);
  EXPECT_EQ(step[0].kind, ledger::Kind::kRollout);
  EXPECT_EQ(step[0].expected_version, 3);
  const auto end = rollout_drafts(rollout.ended(RolloutState::kFinished, "", 1), 4, "finish");
  ASSERT_EQ(end.size(), 2u);
  EXPECT_EQ(end[1].kind, ledger::Kind::kPolicy);
  EXPECT_EQ(end[1].name, "api.read");
  EXPECT_EQ(end[1].expected_version, 47) << "the version that it was compared with, and no other";
  EXPECT_EQ(rollout_drafts(rollout.ended(RolloutState::kRolledBack, "", 1), 4, "roll back").size(), 1u);
}

TEST(StagedRollout, WhatIsWrongIsNamed) {
  const std::string good = write_rollout(example());
  const auto error_of = [&](const std::string& from, const std::string& to) {
    std::string body = good;
    const std::size_t at = body.find(from);
    EXPECT_NE(at, std::string::npos) << from;
    body.replace(at, from.size(), to);
    const auto parsed = parse_rollout(body, "api.read");
    EXPECT_FALSE(parsed) << body;
    return parsed ? std::string() : parsed.error().field;
  };
  EXPECT_EQ(error_of("running", "walking"), "state");
  EXPECT_EQ(error_of("\"stage\":2", "\"stage\":4"), "stage");
  EXPECT_EQ(error_of("\"stage\":2,", ""), "stage");
  EXPECT_EQ(error_of("\"percent\":5", "\"percent\":0"), "stages[1].percent");
  EXPECT_EQ(error_of("\"percent\":100", "\"percent\":101"), "stages[2].percent");
  EXPECT_EQ(error_of("\"hold\":\"1s\"", "\"hold\":\"1ms\""), "stages[2].hold");
  EXPECT_EQ(error_of("\"hold\":\"1s\"", "\"hold\":\"91d\""), "stages[2].hold");
  EXPECT_EQ(error_of(",\"hold\":\"1s\"", ""), "stages[2].hold");
  EXPECT_EQ(error_of("\"min_samples\":20", "\"min_samples\":0"), "min_samples");
  EXPECT_EQ(error_of("\"sigmas\":3", "\"sigmas\":2.5"), "sigmas");
  EXPECT_EQ(error_of("5/s", "five"), "policy.limits[0].rate");
  EXPECT_EQ(error_of("api.read", "api.write"), "policy");
  EXPECT_FALSE(parse_rollout("[]", "api.read"));
  EXPECT_FALSE(parse_rollout("{", "api.read"));
}

TEST(RolloutStages, AreReadFromASetting) {
  constexpr std::int64_t kMinute = 60'000'000;
  EXPECT_EQ(parse_stages("default"), StagedRollout::default_stages());
  EXPECT_EQ(parse_stages("1%:10m,100%:1h"),
            (std::vector<RolloutStage>{{1, 10 * kMinute}, {100, 60 * kMinute}}));
  EXPECT_EQ(parse_stages("0%:1s"), (std::vector<RolloutStage>{{0, 1'000'000}}));
  for (const std::string_view bad :
       {"", ",", "10", "10%", "10%:", "%:1m", "-1%:1m", "101%:1m", "x%:1m", "1:1m", "10%:1m,10%:1m",
        "10%:1m,5%:1m", "1%:0s", "1%:91d", "1%:1m,,2%:1m"})
    EXPECT_FALSE(parse_stages(bad)) << bad;
}

}  // namespace
}  // namespace sluice::control

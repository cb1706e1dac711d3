#include "plan/replay.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <string>
#include <vector>

#include "base/time_units.h"
#include "plan/report/report.h"
#include "plan/threshold.h"
#include "policy/document/policy_document.h"

namespace sluice::plan {
namespace {

using ::testing::HasSubstr;

constexpr std::int64_t kNoonUs = 1'791'633'600 * kSecondUs;  // 2026-10-10T12:00:00Z

const char* const kTwoASecond = R"(policies:
  - id: api
    resource: /api/*
    limits:
      - { name: burst, per: [user], rate: 2/s }
      - { name: minute, per: [ip], rate: 5/m, algorithm: fixed_window }
)";

class ReplayTest : public ::testing::Test {
 protected:
  std::unique_ptr<PolicySet> policies_of(const std::string& document) {
    std::vector<WrittenPolicy> written;
    Problems problems;
    parse_policies(document, "test.yaml", written, problems);
    for (const std::string& problem : problems.texts()) ADD_FAILURE() << problem;
    std::vector<Policy> read;
    for (WrittenPolicy& one : written) read.push_back(std::move(one.policy));
    auto set = PolicySet::of(std::move(read), clock, memory);
    EXPECT_TRUE(set) << set.error();
    return std::move(*set);
  }

  void begin(const std::string& document, const std::string& against_document = "") {
    policies = policies_of(document);
    if (!against_document.empty()) against = policies_of(against_document);
    tally = std::make_unique<Tally>(policies->hasher(), shown);
    replay = std::make_unique<Replay>(
        Replay::Parts{clock, *policies, against.get(), *tally, [this](const auto& denial) {
                        denials.push_back(std::string(denial.request.key) + " by " +
                                          denial.decision.tightest->limit->name());
                      }});
  }

  // Makes `times` requests, this many milliseconds after noon.
  void ask(std::int64_t at_ms, const std::string& key, int times = 1, bool denied_then = false,
           const std::string& resource = "/api/a", const std::string& ip = "192.0.2.7") {
    const Dimension dimension{"ip", ip};
    for (int i = 0; i < times; ++i)
      is_full |= !replay->add({.at_us = kNoonUs + 1000 * at_ms,
                               .request = {.resource = resource, .key = key, .dimensions = {&dimension, 1}},
                               .denied_then = denied_then});
  }

  Report report(std::size_t top = 10) { return make_report(*tally, {}, replay->disorder(), *policies, top); }

  ManualClock clock{0};
  MemoryCountersOptions memory;
  RequestMaker maker;
  ShownValues shown{maker, nullptr};
  std::unique_ptr<PolicySet> policies, against;
  std::unique_ptr<Tally> tally;
  std::unique_ptr<Replay> replay;
  std::vector<std::string> denials;
  bool is_full = false;
};

TEST_F(ReplayTest, MoreKeysInUseThanMemoryHoldsAreNoticed) {
  memory.bytes_max = MemoryCountersOptions::kBytesMin;
  begin(R"(policies:
  - id: api
    limits: [{ name: day, per: [user], rate: 1/d }]
    on_failure: closed
)");
  int keys = 0;
  for (; !is_full; ++keys) {
    ASSERT_LT(keys, 50'000);
    ask(0, "user " + std::to_string(keys));
  }
  EXPECT_EQ(tally->totals().allowed, static_cast<std::uint64_t>(keys - 1));
  EXPECT_TRUE(denials.empty()) << "who found no room was not denied by a limit";
}

// By hand: of four at noon, two are allowed (burst 2), and half a second later one more. The fixed window of
// the address has then seen 3 of 5, so of the four requests in the next seconds two are allowed and two
// denied.
TEST_F(ReplayTest, DecidesAsTheLimitsSay) {
  begin(kTwoASecond);
  ask(0, "alice", 4);
  ask(500, "alice");
  for (const int second : {2, 3, 4, 5}) ask(1000 * second, "alice");
  ask(60'000, "alice");  // a new minute
  ask(60'000, "bob", 1, false, "/other");
  EXPECT_THAT(denials, ::testing::ElementsAre("alice by burst", "alice by burst", "alice by minute",
                                              "alice by minute"));
  const Totals& totals = tally->totals();
  EXPECT_EQ(totals.requests, 11u);
  EXPECT_EQ(totals.no_policy, 1u);
  EXPECT_EQ(totals.allowed, 6u);
  EXPECT_EQ(totals.denied, 4u);
  EXPECT_EQ(totals.newly_denied, 4u);
  EXPECT_EQ(totals.first_us, kNoonUs);
  EXPECT_EQ(totals.last_us, kNoonUs + 60 * kSecondUs);
}

TEST_F(ReplayTest, ReportsByLimitKeyAndResource) {
  begin(kTwoASecond);
  ask(0, "alice", 4, false, "/api/a", "192.0.2.1");
  ask(1000, "bob", 5, false, "/api/b", "192.0.2.2");
  const Report made = report();
  ASSERT_EQ(made.limits.size(), 1u);
  const ReportLimit& limit = made.limits[0];
  EXPECT_EQ(limit.policy, "api");
  EXPECT_EQ(limit.limit, "burst");
  EXPECT_EQ(limit.allows, "2/s");
  EXPECT_EQ(limit.happened.denied, 5u);
  EXPECT_EQ(limit.keys, 2u);
  EXPECT_EQ(limit.happened.first_us, kNoonUs);
  EXPECT_EQ(limit.happened.last_us, kNoonUs + kSecondUs);
  EXPECT_EQ(limit.worst_second.amount, 3u);
  EXPECT_EQ(limit.worst_second.begin_us, kNoonUs + kSecondUs);
  EXPECT_EQ(limit.worst_minute.amount, 5u);
  ASSERT_EQ(made.keys.size(), 2u);
  EXPECT_EQ(made.keys[0].label, "user bob");
  EXPECT_EQ(made.keys[0].peak, "5/s");
  EXPECT_EQ(made.keys[0].rate, "2/s");
  EXPECT_EQ(made.keys[0].happened.denied, 3u);
  EXPECT_EQ(made.keys[1].label, "user alice");
  ASSERT_EQ(made.resources.size(), 1u) << "one pattern";
  EXPECT_EQ(made.resources[0].resource, "/api/*");
  EXPECT_EQ(made.resources[0].tally.requests, 9u);
  EXPECT_EQ(made.resources[0].tally.denied, 5u);
  EXPECT_EQ(verdict_text(made), "55.6 % newly denied, 2 keys; 60.0 % is user bob");

  const Report cut = report(1);
  EXPECT_EQ(cut.keys.size(), 1u);
  EXPECT_EQ(cut.keys_denied, 2u);
}

TEST_F(ReplayTest, ResourcesWithoutAPatternAreReportedOneByOne) {
  begin("policies: [{ id: any, limits: [{ name: burst, per: [user], rate: 2/s }] }]");
  ask(0, "alice", 4, false, "/api/a");
  ask(1000, "bob", 5, false, "/api/b");
  const Report made = report();
  ASSERT_EQ(made.resources.size(), 2u);
  EXPECT_EQ(made.resources[0].resource, "/api/b");
  EXPECT_EQ(made.resources[0].tally.denied, 3u);
  const Report cut = report(1);
  EXPECT_EQ(cut.resources.size(), 1u);
  EXPECT_EQ(cut.resources_denied, 2u);
}

TEST_F(ReplayTest, WhoWasDeniedThenIsNotNewlyDenied) {
  begin(kTwoASecond);
  ask(0, "alice", 2);
  ask(0, "alice", 2, true);     // denied then and now
  ask(0, "alice", 1);           // newly denied
  ask(10'000, "bob", 1, true);  // newly allowed
  const Totals& totals = tally->totals();
  EXPECT_EQ(totals.denied, 3u);
  EXPECT_EQ(totals.denied_then, 3u);
  EXPECT_EQ(totals.newly_denied, 1u);
  EXPECT_EQ(totals.newly_allowed, 1u);
}

TEST_F(ReplayTest, ComparesTwoSetsOfPolicies) {
  begin(
      "policies: [{id: new, resource: /api/*, limits: [{name: n, per: [key], rate: 3/s}]},"
      "{id: off, resource: /off, limits: [{name: n, per: [key], rate: 0/s}]}]",
      "policies: [{id: old, resource: /api/*, limits: [{name: o, per: [key], rate: 1/s}]}]");
  ask(0, "alice", 4, true);  // the log's answers are ignored
  ask(0, "alice", 1, false, "/off");
  const Totals& totals = tally->totals();
  EXPECT_EQ(totals.denied, 2u);       // the fourth, and /off
  EXPECT_EQ(totals.denied_then, 3u);  // all but the first
  EXPECT_EQ(totals.newly_denied, 1u);
  EXPECT_EQ(totals.newly_allowed, 2u);
}

TEST_F(ReplayTest, TheClockNeverGoesBack) {
  begin(kTwoASecond);
  ask(10'000, "alice", 2);
  ask(9'000, "alice");  // late: replayed at ten seconds
  ask(8'500, "alice");
  ask(10'500, "alice");
  EXPECT_EQ(tally->totals().denied, 2u);
  EXPECT_EQ(replay->disorder().late, 2u);
  EXPECT_EQ(replay->disorder().latest_by_us, 1'500'000);
  EXPECT_THAT(report().notes[0], HasSubstr("2 requests are out of order, by up to 1500ms"));
}

TEST_F(ReplayTest, NotesTellWhatTheReaderShouldKnow) {
  begin(R"(policies:
  - { id: trial, resource: /api/*, shadow: true, limits: [{ name: n, per: [key], rate: 1/s }] }
  - { id: later, resource: /later, rollout: { valid_from: 2027-01-01T00:00:00Z }, limits: [{ name: n, per: [key], rate: 1/s }] }
  - { id: region, resource: /region, limits: [{ name: n, per: [region], rate: 1/s }] }
  - { id: strict, resource: /strict, limits: [{ name: n, per: [region], rate: 1/s, required: true }] }
)");
  ask(0, "alice", 3);
  ask(0, "alice", 2, false, "/later");
  ask(0, "alice", 2, false, "/region");
  ask(0, "alice", 1, false, "/strict");
  ask(0, std::string(kKeyBytesMax + 1, 'k'));
  const Report made = report();
  EXPECT_EQ(made.totals.denied, 0u);
  EXPECT_EQ(made.totals.refused, 2u);
  EXPECT_EQ(made.totals.no_policy, 2u);  // /later
  ASSERT_EQ(made.shadows.size(), 1u);
  EXPECT_EQ(made.shadows[0].policy, "trial");
  EXPECT_EQ(made.shadows[0].would_deny, 2u);
  std::string notes;
  for (const std::string& note : made.notes) notes += note + '\n';
  EXPECT_THAT(notes, HasSubstr("2 requests would have got an error instead of an answer; the first: limit"));
  EXPECT_THAT(notes, HasSubstr("Policy later applies only from 2027-01-01T00:00:00Z on"));
  EXPECT_THAT(notes, HasSubstr("Limit n of policy region was skipped for 2 requests"));
}

TEST_F(ReplayTest, WhatAServerWouldHaveRefusedChargesNothing) {
  begin(kTwoASecond, kTwoASecond);
  const TrafficEntry refused{.at_us = 1,
                             .request = {.resource = "/api/a", .key = "alice"},
                             .refusal = Error{ErrorCode::kInvalidArgument, "no path", "resource"}};
  for (int i = 0; i < 3; ++i) EXPECT_TRUE(replay->add(refused));
  EXPECT_EQ(tally->totals().refused, 3u);
  EXPECT_EQ(tally->totals().denied_then, 0u);
  EXPECT_EQ(tally->first_refusal(), "no path");
}

TEST_F(ReplayTest, CostsAndSecrets) {
  begin("policies: [{id: p, limits: [{name: n, per: [api_key], rate: 10/m}], costs: {/api/a: 4}}]");
  const Dimension dimension{"api_key", "0123456789abcdefghij"};
  for (int i = 0; i < 3; ++i)
    replay->add({.at_us = kNoonUs, .request = {.resource = "/api/a", .dimensions = {&dimension, 1}}});
  const Report made = report();
  ASSERT_EQ(made.keys.size(), 1u);
  EXPECT_EQ(made.keys[0].peak, "12/m");
  EXPECT_TRUE(made.keys[0].label.starts_with("api_key 0123…")) << made.keys[0].label;
  for (const std::string& text : {to_table(made), to_json(made), to_html(made)}) {
    EXPECT_THAT(text, HasSubstr("0123…"));
    EXPECT_THAT(text, ::testing::Not(HasSubstr("0123456789")));
  }
}

TEST_F(ReplayTest, WhatALogSaysIsOnlyText) {
  begin("policies: [{id: p, limits: [{name: n, per: [key], rate: 0/s}]}]");
  ask(0, "<script>alert('1')</script>", 1, false, "/\"><b>\x1b[2J\xff");
  const Report made = report();
  const std::string html = to_html(made);
  EXPECT_THAT(html, ::testing::Not(HasSubstr("<script")));
  EXPECT_THAT(html, ::testing::Not(HasSubstr("<b>\x1b")));
  EXPECT_THAT(html, HasSubstr("&lt;script&gt;alert(&#39;1&#39;)&lt;/script&gt;"));
  EXPECT_THAT(html, HasSubstr("/&quot;&gt;&lt;b&gt;?[2J?"));
  EXPECT_THAT(to_table(made), HasSubstr("/\"><b>?[2J?"));
  EXPECT_THAT(to_json(made), HasSubstr(R"("/\"><b>?[2J?")"));
}

TEST(Timeline, WidensAsTheLogGrows) {
  Timeline timeline;
  for (std::int64_t second = 0; second < 1000; ++second)
    timeline.add(kNoonUs + 500'000 + second * kSecondUs, second % 10 == 0, second % 20 == 0);
  EXPECT_EQ(timeline.begin_us(), kNoonUs);
  EXPECT_EQ(timeline.width_us(), 8 * kSecondUs);
  EXPECT_EQ(timeline.buckets().size(), 125u);
  std::uint64_t requests = 0, denied = 0, newly = 0;
  for (const auto& bucket : timeline.buckets()) {
    EXPECT_EQ(bucket.requests, 8u);
    requests += bucket.requests, denied += bucket.denied, newly += bucket.newly_denied;
  }
  EXPECT_EQ(requests, 1000u);
  EXPECT_EQ(denied, 100u);
  EXPECT_EQ(newly, 50u);
  timeline.add(kExactMax - 1, true, true);  // the largest possible time still fits
  EXPECT_LE(timeline.buckets().size(), Timeline::kBuckets);
}

TEST(Threshold, NumbersAndShares) {
  struct Case {
    std::string text;
    std::uint64_t part, whole;
    bool exceeded;
  };
  for (const Case& c : std::vector<Case>{
           {"0", 0, 10, false},
           {"0", 1, 10, true},
           {"5", 5, 10, false},
           {"5", 6, 10, true},
           {"0.1%", 1, 1000, false},
           {"0.1%", 2, 1000, true},
           {"0.1%", 1, 999, true},
           {"0%", 0, 10, false},
           {"0%", 1, 10'000'000, true},
           {"100%", 10, 10, false},
           {"0.000001%", 1, 100'000'000, false},
       })
    EXPECT_EQ(Threshold::parse(c.text).value().is_exceeded(c.part, c.whole), c.exceeded)
        << c.text << ' ' << c.part;
  for (const char* text :
       {"", "%", "-1", "1.5", "101%", "1e3", ".5%", "1.%", "0.0000001%", "1 %", "99999999999999999999"})
    EXPECT_FALSE(Threshold::parse(text)) << text;
}

}  // namespace
}  // namespace sluice::plan

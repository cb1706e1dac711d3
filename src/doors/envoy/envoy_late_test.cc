// Envoy's rate limit service on a store that answers later.
#include <gmock/gmock.h>

#include "doors/testing/envoy_rls_fixture.h"
#include "engine/testing/late_store.h"

namespace sluice::doors::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

class EnvoyLateTest : public EnvoyRlsFixture {
 protected:
  // The answer is appended to `told`. The message is destroyed when this returns, as on the wire.
  void ask_late(const EnvoyMessage& message) {
    std::string bytes = message.encoded();
    const net::HeaderList no_metadata;
    Reply reply(told);
    late_app.handle_unary({.path = kShouldRateLimit, .metadata = &no_metadata, .peer = &peer}, bytes, reply);
    bytes.assign(bytes.size(), 'x');
    reply.finish();
  }

  class Reply final : public net::GrpcReply {
   public:
    explicit Reply(std::vector<Told>& told) : net::GrpcReply(at_once_), told_(told) {}
    Later later() override {
      is_late_ = true;
      return [&told = told_](net::GrpcResponse&& late) { note(late, told); };
    }
    void finish() {
      if (!is_late_) note(at_once_, told_);
    }

   private:
    static void note(const net::GrpcResponse& response, std::vector<Told>& told) {
      EXPECT_EQ(response.status.code, net::GrpcCode::kOk) << response.status.message;
      told.push_back(read_answer(response.message));
    }
    net::GrpcResponse at_once_;
    std::vector<Told>& told_;
    bool is_late_ = false;
  };

  sluice::testing::LateStore late{store};
  Engine late_engine{{late, snapshots, hasher, clock, totals}};
  App late_app{late_engine, options, 1};
  std::vector<Told> told;
};

TEST_F(EnvoyLateTest, AnswersWhenTheStoreHasAnswered) {
  load(
      {"{ domain: d, descriptors: [{ key: k, metadata: { a: b }, rate_limit: { unit: day, requests_per_unit: "
       "2 } }] }"});
  ask_late(about("d", {{{"k", "one"}}, {{"other", "x"}}}));
  ask_late(about("d", {{{"k", "two"}}}));
  EXPECT_TRUE(told.empty());
  load({"policies: []"});
  late.answer_all();
  ASSERT_EQ(told.size(), 2u);
  EXPECT_THAT(told[0].statuses, ElementsAre(HasSubstr("OK 1 of 2/4"), "OK 0"));
  EXPECT_THAT(told[0].metadata, HasSubstr("metadata"));
  EXPECT_THAT(told[1].statuses, ElementsAre(HasSubstr("OK 1 of 2/4")));
}

TEST_F(EnvoyLateTest, WhatAsksNothingIsAnsweredAtOnce) {
  load({"{ domain: d, descriptors: [{ key: k }] }"});
  ask_late(about("d", {{{"k", "one"}}}));
  ASSERT_EQ(told.size(), 1u);
  EXPECT_THAT(told[0].statuses, ElementsAre("OK 0"));
}

TEST_F(EnvoyLateTest, QuotasAreLookedAtFirst) {
  load({R"(
domain: d
descriptors:
  - { key: a, quota_mode: true, rate_limit: { unit: day, requests_per_unit: 1, name: first } }
  - { key: b, quota_mode: true, rate_limit: { unit: day, requests_per_unit: 2 } }
)"});
  for (int i = 0; i < 3; ++i) {
    ask_late(about("d", {{{"a", "x"}}, {{"b", "x"}}}));
    late.answer_all();
  }
  ASSERT_EQ(told.size(), 3u);
  EXPECT_THAT(told[0].statuses, ElementsAre(HasSubstr("OK 0 of 1/4"), HasSubstr("OK 1 of 2/4")));
  EXPECT_THAT(told[1].statuses,
              ElementsAre(HasSubstr("OVER 0 of 1/4 \"first\" reset "), HasSubstr("OK 0 of 2/4")));
  EXPECT_EQ(told[1].overall, 1u);
  EXPECT_EQ(told[2].overall, 2u);
}

TEST_F(EnvoyLateTest, PoliciesMayChangeAfterALook) {
  constexpr const char* kQuotas =
      "{ domain: d, descriptors: ["
      "{ key: a, quota_mode: true, rate_limit: { unit: day, requests_per_unit: 0, name: first } }, "
      "{ key: b, quota_mode: true, rate_limit: { unit: day, requests_per_unit: 2 } }] }";
  load({kQuotas});
  const EnvoyMessage message = about("d", {{{"a", "x"}}, {{"b", "x"}}});
  for (const char* after :
       {"{ domain: d, descriptors: [{ key: a, rate_limit: { unit: day, requests_per_unit: 7 } }] }",
        "policies: []"}) {
    load({kQuotas});
    ask_late(message);
    load({after});
    late.answer_all();
  }
  ASSERT_EQ(told.size(), 2u);
  EXPECT_THAT(told[0].statuses, ElementsAre(HasSubstr("OK 6 of 7/4"), "OK 0")) << "no quota any more";
  EXPECT_THAT(told[1].statuses, ElementsAre("OK 0", "OK 0"));
}

TEST_F(EnvoyLateTest, WithoutAnAnswerToTheLookTheFailureRuleDecides) {
  load({R"(
domain: d
descriptors:
  - { key: a, quota_mode: true, rate_limit: { unit: day, requests_per_unit: 0 } }
  - { key: b, quota_mode: true, rate_limit: { unit: day, requests_per_unit: 2 } }
)"});
  ask_late(about("d", {{{"a", "x"}}, {{"b", "x"}}}));
  late.fail_all();
  ASSERT_EQ(told.size(), 1u);
  EXPECT_EQ(told[0].overall, 1u);
  EXPECT_THAT(told[0].statuses, ElementsAre("OK 0", "OK 0"));
}

TEST_F(EnvoyLateTest, WhatIsGivenBackIsTold) {
  load(
      {"{ domain: d, descriptors: [{ key: k, rate_limit: { unit: day, requests_per_unit: 9, name: nine } }] "
       "}"});
  EnvoyMessage both = about("d", {{{"k", "one"}}, {{"k", "two"}}});
  both.descriptors[0].hits = 10;
  both.descriptors[1].is_negative_hits = true;
  ask_late(about("d", {{{"k", "two"}}}));
  ask_late(both);
  ask_late(about("d", {{{"k", "three"}}}));
  EXPECT_TRUE(told.empty());
  load({"policies: []"});
  late.answer_all();
  ASSERT_EQ(told.size(), 3u);
  EXPECT_EQ(told[1].overall, 2u);
  EXPECT_THAT(told[1].statuses,
              ElementsAre(HasSubstr("OVER 9 of 9/4 \"nine\""), HasSubstr("OK 9 of 9/4 \"nine\"")));
  EXPECT_FALSE(told[1].headers.empty());
  EXPECT_THAT(told[1].body, HasSubstr("429"));
}

TEST_F(EnvoyLateTest, WhoMayGiveBackIsKnownAfterALook) {
  load({R"(
domain: d
descriptors:
  - { key: a, quota_mode: true, rate_limit: { unit: day, requests_per_unit: 9 } }
  - { key: b, quota_mode: true, rate_limit: { unit: day, requests_per_unit: 9 } }
  - { key: k, rate_limit: { unit: day, requests_per_unit: 9 } }
)"});
  EnvoyMessage all = about("d", {{{"a", "x"}}, {{"b", "x"}}, {{"k", "x"}}});
  ask_late(about("d", {{{"k", "x"}}}));
  all.descriptors[2].is_negative_hits = true;
  for (const bool is_trusted : {false, true}) {
    peer.is_trusted = is_trusted;
    ask_late(all);
    late.answer_all();
  }
  ASSERT_EQ(told.size(), 3u);
  EXPECT_THAT(told[1].statuses, ElementsAre(HasSubstr("OK 8"), HasSubstr("OK 8"), HasSubstr("OK 8")));
  EXPECT_THAT(told[2].statuses, ElementsAre(HasSubstr("OK 7"), HasSubstr("OK 7"), HasSubstr("OK 9")));
}

TEST_F(EnvoyLateTest, AStoreThatIsSilentDeniesNoRefund) {
  load({"{ domain: d, descriptors: [{ key: k, rate_limit: { unit: day, requests_per_unit: 9 } }] }"});
  EnvoyMessage gives = about("d", {{{"k", "one"}}});
  gives.descriptors[0].is_negative_hits = true;
  ask_late(gives);
  late.fail_all();
  late.broken = true;
  ask_late(gives);
  ASSERT_EQ(told.size(), 2u);
  for (const Told& each : told) {
    EXPECT_EQ(each.overall, 1u);
    EXPECT_THAT(each.statuses, ElementsAre("OK 0"));
  }
}

}  // namespace
}  // namespace sluice::doors::testing

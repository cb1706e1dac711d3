#include "store/redis/cluster/cluster_store.h"

#include <gmock/gmock.h>

#include "store/redis/testing/cluster_replies_fixture.h"

namespace sluice {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

// How a ClusterStore finds its nodes and distributes its calls; the test plays the servers and the clock.
using ClusterStoreTest = ClusterRepliesFixture;

TEST_F(ClusterStoreTest, OneSeedIsEnough) {
  make_store();
  EXPECT_FALSE(store_->health().connected);
  EXPECT_THAT(store_->health().problems, Contains(HasSubstr("no node has reported the slot map yet")));
  connect();
  EXPECT_TRUE(store_->health().connected);
  EXPECT_THAT(store_->health().problems, IsEmpty());
}

TEST_F(ClusterStoreTest, ASeedThatKnowsNothingIsNotBelieved) {
  const std::string replies[] = {"*0\r\n", "-ERR This instance has cluster support disabled\r\n", ":1\r\n"};
  for (const std::string& reply : replies) {
    options_.seeds = {{.host = "x", .port = 1}, {.host = "a", .port = 7000}};
    make_store();
    pass(0);
    log_in("x:1");
    log_in(kA);
    for (int i = 0; i < 10 && !at(kB).open(); ++i) {
      pass(500'000);
      if (!at("x:1").take_sent().empty()) at("x:1").say(reply + reply);
      if (!at(kA).take_sent().empty()) at(kA).say(report(whole_map()));
      pass(0);
    }
    EXPECT_TRUE(at(kB).open()) << "the other seed is asked, too";
  }
}

TEST_F(ClusterStoreTest, ACallGoesToTheNodeOfItsSlot) {
  connect();
  for (const char* node : {kA, kB, kC}) {
    const auto asked = call_on(node);
    EXPECT_FALSE(store_->start(*asked));
    EXPECT_EQ(count(at(node).take_sent(), kEvalsha), 1);
    at(node).say(answer());
    EXPECT_TRUE(asked->allowed());
    EXPECT_EQ(asked->times_done, 1);
  }
  EXPECT_EQ(store_->node_stats().batches, 3u);
  EXPECT_EQ(store_->node_stats().checks, 3u);
}

TEST_F(ClusterStoreTest, BeforeThereIsAMapThereIsNoAnswer) {
  make_store();
  const auto single = call_on(kA), split = call({charge(tag_on(kA)), charge(tag_on(kB))});
  EXPECT_TRUE(store_->start(*single));
  EXPECT_TRUE(store_->start(*split));
  EXPECT_EQ(single->verdict, Verdict::kNoAnswer);
  EXPECT_EQ(split->verdict, Verdict::kNoAnswer);
  int existed = 0;
  const CounterName name{{0, 1}, 0};
  store_->reset({&name, 1}, [&](int count) { existed = count; });
  EXPECT_EQ(existed, -1);
}

TEST_F(ClusterStoreTest, WhatWaitsForANodeGoesTogetherWithACommandPerSlot) {
  connect();
  const std::uint32_t x = tag_on(kA, 0), y = tag_on(kA, 1);
  ASSERT_NE(slot_of_tag(x), slot_of_tag(y));
  std::vector<std::unique_ptr<TestCall>> calls;
  for (const std::uint32_t tag : {x, x, y, x, y, x}) calls.push_back(call({charge(tag, tag)}));
  for (const auto& each : calls) store_->start(*each);
  EXPECT_EQ(count(at(kA).take_sent(), kEvalsha), 1);
  at(kA).say(answer());
  EXPECT_EQ(count(at(kA).take_sent(), kEvalsha), 2) << "equal slots are one command";
  const auto later = call({charge(x, x)});
  store_->start(*later);
  at(kA).say("*3\r\n:1800000000000000\r\n$-1\r\n:3\r\n");
  EXPECT_EQ(calls[5]->times_done, 1) << "as soon as its command is answered";
  EXPECT_EQ(at(kA).take_sent(), "") << "the flight is not over";
  at(kA).say("*3\r\n:1800000000000000\r\n$-1\r\n:2\r\n");
  EXPECT_EQ(count(at(kA).take_sent(), kEvalsha), 1);
  at(kA).say(answer());
  for (const auto& each : calls) EXPECT_TRUE(each->allowed());
  EXPECT_TRUE(later->allowed());
}

TEST_F(ClusterStoreTest, ABurstGoesTogether) {
  connect();
  const auto first = call_on(kA), second = call_on(kA), third = call_on(kB);
  store_->begin_burst();
  store_->start(*first);
  store_->start(*second);
  store_->start(*third);
  EXPECT_EQ(at(kA).take_sent() + at(kB).take_sent(), "");
  store_->end_burst();
  EXPECT_EQ(count(at(kA).take_sent(), kEvalsha), 1);
  EXPECT_EQ(count(at(kB).take_sent(), kEvalsha), 1);
}

TEST_F(ClusterStoreTest, AFlightIsBounded) {
  connect();
  std::vector<std::unique_ptr<TestCall>> calls;
  calls.push_back(call_on(kA));
  for (int i = 0; i < 100; ++i) calls.push_back(call({charge(tag_on(kA, i))}));
  for (const auto& each : calls) store_->start(*each);
  at(kA).take_sent();
  at(kA).say(answer());
  EXPECT_LE(count(at(kA).take_sent(), kEvalsha), static_cast<int>(kRedisFlightSlotsMax));
}

TEST_F(ClusterStoreTest, AKeyUnderOtherNumbersFollowsInTheSameFlight) {
  connect();
  const ParamsId raised = params_.intern(make_limit_params(Algorithm::kGcra, {20, 60 * kSecond}, {}).value());
  const auto first = call_on(kA), second = call_on(kA);
  const auto changed = call({{.key = {0, 1}, .params = raised, .slot_tag = tag_on(kA)}});
  store_->start(*first);
  store_->start(*second);
  store_->start(*changed);
  at(kA).take_sent();
  at(kA).say(answer());
  EXPECT_EQ(count(at(kA).take_sent(), kEvalsha), 2);
}

TEST_F(ClusterStoreTest, SlotsOfOneCallAreAskedAtTheSameTime) {
  connect();
  const auto asked =
      call({charge(tag_on(kA)), charge(tag_on(kB)), charge(tag_on(kC)), charge(tag_on(kA), 2)});
  EXPECT_FALSE(store_->start(*asked));
  EXPECT_EQ(count(at(kA).take_sent(), kEvalsha), 1) << "before any of them has answered";
  EXPECT_EQ(count(at(kB).take_sent(), kEvalsha), 1);
  EXPECT_EQ(count(at(kC).take_sent(), kEvalsha), 1);
  at(kC).say(answer());
  at(kA).say(answer(true, 2));
  EXPECT_EQ(asked->times_done, 0);
  at(kB).say(answer());
  EXPECT_EQ(asked->times_done, 1);
  EXPECT_TRUE(asked->allowed());
  EXPECT_EQ(asked->results_known, 4u);
  for (std::size_t i = 0; i < 4; ++i) EXPECT_EQ(asked->remaining(i), 9);
  EXPECT_EQ(store_->stats().split_calls, 1u);
  EXPECT_EQ(store_->stats().refunds, 0u);
}

TEST_F(ClusterStoreTest, WhatADeniedCallWasChargedGoesBack) {
  connect();
  const auto asked = call({charge(tag_on(kA), 1, 3), charge(tag_on(kB))});
  store_->start(*asked);
  at(kA).take_sent();
  at(kB).take_sent();
  at(kA).say(answer());
  at(kB).say(answer(false));
  EXPECT_EQ(asked->verdict, Verdict::kDenied);
  EXPECT_EQ(asked->remaining(0), 10) << "as if it had not been charged";
  EXPECT_EQ(count(at(kA).take_sent(), kEvalsha), 1) << "the refund, without waiting for the caller";
  EXPECT_EQ(at(kB).take_sent(), "");
  EXPECT_EQ(store_->stats().refunds, 1u);
  at(kA).cut("Connection reset by peer");
  EXPECT_EQ(store_->stats().refunds_lost, 1u);
  EXPECT_EQ(asked->times_done, 1);
}

TEST_F(ClusterStoreTest, ARefundFollowsItsSlot) {
  connect();
  const auto asked = call({charge(tag_on(kA)), charge(tag_on(kB))});
  store_->start(*asked);
  at(kA).say(answer());
  at(kA).take_sent();
  at(kB).say(answer(false));
  const std::string refund = at(kA).take_sent();
  at(kB).take_sent();
  at(kA).say(redirect("MOVED", tag_on(kA), kB));
  EXPECT_EQ(at(kB).take_sent(), refund);
}

TEST_F(ClusterStoreTest, ASplitCallEndsAtItsDeadlineWhicheverSlotIsSilent) {
  connect();
  const auto asked = call({charge(tag_on(kA)), charge(tag_on(kB))}, 10'000);
  store_->start(*asked);
  at(kA).take_sent();
  at(kA).say(answer());
  pass(9'999);
  EXPECT_EQ(asked->times_done, 0);
  pass(1);
  EXPECT_EQ(asked->times_done, 1);
  EXPECT_EQ(asked->verdict, Verdict::kNoAnswer);
  EXPECT_EQ(asked->results_known, 0u);
  EXPECT_EQ(count(at(kA).take_sent(), kEvalsha), 1) << "the one that was charged is given back";
  at(kB).say(answer());  // late
  EXPECT_EQ(asked->times_done, 1);
}

TEST_F(ClusterStoreTest, SplitCallsAreBounded) {
  connect();
  std::vector<std::unique_ptr<TestCall>> calls;
  int at_once = 0;
  for (std::size_t i = 0; i < kRedisSplitCallsMax; ++i) {
    calls.push_back(call({charge(tag_on(kA)), charge(tag_on(kB))}));
    at_once += store_->start(*calls.back()) ? 1 : 0;
  }
  EXPECT_GT(at_once, 0);
  EXPECT_EQ(calls.back()->verdict, Verdict::kShed) << "never kNoAnswer: the cluster is well";
  EXPECT_EQ(store_->stats().too_many_split, static_cast<std::uint64_t>(at_once));
  EXPECT_EQ(store_->node_stats().shed_queue_full, static_cast<std::uint64_t>(at_once));
}

TEST_F(ClusterStoreTest, WhatOneNodeWouldShedNoOtherIsAskedFor) {
  options_.node.queue_max = 2;
  connect();
  std::vector<std::unique_ptr<TestCall>> calls;
  for (int i = 0; i < 20; ++i) {  // some are sent, two wait, the others are shed
    calls.push_back(call_on(kA));
    store_->start(*calls.back());
  }
  ASSERT_EQ(calls.back()->verdict, Verdict::kShed);
  at(kB).take_sent();
  const auto both = call({charge(tag_on(kA)), charge(tag_on(kB))});
  EXPECT_TRUE(store_->start(*both));
  EXPECT_EQ(both->verdict, Verdict::kShed);
  EXPECT_EQ(count(at(kB).take_sent(), kEvalsha), 0) << "nothing is charged";
}

// One slot is lost. A call that is denied anyway is not charged on the other slots; a call that passes is
// decided by them.
TEST_F(ClusterStoreTest, WhatIsDeniedWithoutAnAnswerIsAskedOfNobody) {
  options_.node.breaker.failures_in_a_row = 1;
  connect();
  const auto lost = call_on(kB);
  store_->start(*lost);
  at(kB).cut("Connection reset by peer");
  ASSERT_EQ(lost->verdict, Verdict::kNoAnswer);
  at(kA).take_sent();
  const auto closed = call({charge(tag_on(kA)), charge(tag_on(kB))});
  closed->without_answer = StoreCall::WithoutAnswer::kDenied;
  EXPECT_TRUE(store_->start(*closed));
  EXPECT_EQ(closed->verdict, Verdict::kNoAnswer);
  EXPECT_EQ(count(at(kA).take_sent(), kEvalsha), 0);
  const auto open = call({charge(tag_on(kA)), charge(tag_on(kB))});
  open->without_answer = StoreCall::WithoutAnswer::kPasses;
  EXPECT_FALSE(store_->start(*open));
  EXPECT_EQ(count(at(kA).take_sent(), kEvalsha), 1);
  at(kA).say(answer(false));
  EXPECT_EQ(open->verdict, Verdict::kDenied) << "its limit on a slot that is well is exhausted";
}

TEST_F(ClusterStoreTest, APromotedReplicaIsFoundAndGetsWhatWaited) {
  options_.node.breaker.failures_in_a_row = 1000;
  connect();
  pass(kSecond);  // the map is fetched again until all nodes were connected
  answer_refreshes(whole_map());
  const auto sent = call_on(kA), with_id = call({charge(tag_on(kA), 5)}), queued = call_on(kA);
  with_id->dedupe = Dedupe{{5, 5}, 7, kSecond};
  store_->start(*sent);
  store_->start(*with_id);
  at(kA).take_sent();
  at(kA).say(answer());
  EXPECT_THAT(at(kA).take_sent(), HasSubstr(kEvalsha));
  network_.unreachable = kA;
  at(kA).cut("Connection reset by peer");
  EXPECT_EQ(with_id->times_done, 0) << "it may be asked again";
  store_->start(*queued);
  const std::string promoted =
      "*3\r\n" + range(0, 5460, "d", 7003) + range(5461, 10922, "b", 7001) + range(10923, 16383, "c", 7002);
  std::int64_t waited_us = 0;
  for (; waited_us < 2 * kSecond && !at(kD).open(); waited_us += 10'000) {
    pass(10'000);
    answer_refreshes(waited_us < kSecond ? whole_map() : promoted);
    pass(0);
  }
  ASSERT_TRUE(at(kD).open());
  EXPECT_LE(waited_us, 1'600'000) << "soon after the others know";
  EXPECT_FALSE(store_->health().connected);
  log_in(kD);
  EXPECT_TRUE(store_->health().connected);
  EXPECT_EQ(count(at(kD).take_sent(), kEvalsha), 1) << "both in one";
  EXPECT_EQ(store_->node_stats().sent_again, 1u);
}

// The node is frozen: the connection looks well, but there is no answer.
TEST_F(ClusterStoreTest, WhoWaitsForAReplacedNodeIsSentToItsSuccessor) {
  connect();
  pass(kSecond);
  const auto with_id = call({charge(tag_on(kA), 5)}, 5 * kSecond), queued = call_on(kA, 5 * kSecond);
  with_id->dedupe = Dedupe{{5, 5}, 7, kSecond};
  store_->start(*with_id);
  store_->start(*queued);
  answer_refreshes("*3\r\n" + range(0, 5460, "b", 7001) + range(5461, 10922, "b", 7001) +
                   range(10923, 16383, "c", 7002));
  EXPECT_EQ(count(at(kB).take_sent(), kEvalsha), 1) << "what was not sent yet, at once";
  at(kB).say(answer());
  EXPECT_TRUE(queued->allowed());
  at(kA).cut("Connection timed out");
  pass(0);
  EXPECT_EQ(count(at(kB).take_sent(), kEvalsha), 1)
      << "what may be sent again, when the connection is given up";
}

TEST_F(ClusterStoreTest, ALostNodeIsNamedWithItsSlots) {
  connect();
  network_.unreachable = kB;
  at(kB).cut("Connection reset by peer");
  EXPECT_FALSE(store_->health().connected);
  EXPECT_THAT(store_->health().problems,
              ElementsAre(testing::AllOf(HasSubstr("b:7001"), HasSubstr("Connection reset by peer"),
                                         HasSubstr("this node has 5462 slots"))));
  const auto elsewhere = call_on(kA);
  store_->start(*elsewhere);
  at(kA).say(answer());
  EXPECT_TRUE(elsewhere->allowed()) << "others do not notice";
}

TEST_F(ClusterStoreTest, SlotsOfNobodyAreNamed) {
  connect();
  pass(kSecond);
  answer_refreshes("*2\r\n" + range(0, 5460, "a", 7000) + range(10923, 16383, "c", 7002));
  EXPECT_FALSE(store_->health().connected);
  EXPECT_THAT(store_->health().problems,
              ElementsAre(HasSubstr("5462 of 16384 slots are not assigned to a node")));
  const auto lost = call_on(kB);
  EXPECT_TRUE(store_->start(*lost));
  EXPECT_EQ(store_->stats().without_node, 1u);
}

TEST_F(ClusterStoreTest, ANodeThatLeftTheClusterIsLetGo) {
  const std::string without_b = "*2\r\n" + range(0, 10922, "a", 7000) + range(10923, 16383, "c", 7002);
  connect();
  pass(kSecond);
  const auto last = call_on(kB);
  store_->start(*last);
  answer_refreshes(without_b);
  at(kB).say(answer());
  EXPECT_TRUE(last->allowed()) << "what was under way is answered";
  EXPECT_TRUE(at(kB).open());
  for (int i = 0; i < 60; ++i) {
    pass(100'000);
    answer_refreshes(without_b);
  }
  EXPECT_FALSE(at(kB).open());
  EXPECT_EQ(store_->node_stats().checks, 1u) << "its numbers stay";
}

TEST_F(ClusterStoreTest, ResetsGoToEveryNodeAndFollowRedirects) {
  connect();
  int existed = -2;
  const CounterName names[] = {{{0, 1}, tag_on(kA)}, {{0, 2}, tag_on(kA)}, {{0, 3}, tag_on(kB)}};
  const auto hear = [&](int count) { existed = count; };
  store_->reset(names, hear);
  EXPECT_EQ(count(at(kA).take_sent(), "UNLINK"), 2);
  at(kA).say(":1\r\n" + redirect("ASK", tag_on(kA), kC));
  EXPECT_THAT(at(kC).take_sent(), HasSubstr("ASKING\r\n*2\r\n$6\r\nUNLINK"));
  at(kC).say("+OK\r\n:1\r\n");
  at(kB).say(redirect("MOVED", tag_on(kB), kC));
  EXPECT_EQ(existed, -2);
  at(kC).say(":0\r\n");
  EXPECT_EQ(existed, 2);
  store_->reset(names, hear);
  at(kA).say(":1\r\n:1\r\n");
  at(kB).say("-CLUSTERDOWN The cluster is down\r\n");
  EXPECT_EQ(existed, -1) << "one is not known";
  store_->reset({}, hear);
  EXPECT_EQ(existed, 0);
}

}  // namespace
}  // namespace sluice

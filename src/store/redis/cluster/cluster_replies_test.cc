#include <gmock/gmock.h>

#include "store/redis/testing/cluster_replies_fixture.h"

namespace sluice {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::StartsWith;

// What a ClusterStore does when a node redirects or refuses a call.
using ClusterRepliesTest = ClusterRepliesFixture;

constexpr std::string_view kAsking = "*1\r\n$6\r\nASKING\r\n";
constexpr const char* kTryAgain = "-TRYAGAIN Multiple keys request during rehashing of slot\r\n";

TEST_F(ClusterRepliesTest, WhoIsSentToANodeWithoutAConnectionWaitsNoLongerThanTheDeadline) {
  connect();
  const auto asked = call_on(kA, 10'000), patient = call_on(kA);
  EXPECT_FALSE(store_->start(*asked));
  at(kA).say(redirect("ASK", tag_on(kA), kD));
  EXPECT_FALSE(store_->start(*patient));
  at(kA).say(redirect("ASK", tag_on(kA), kD));
  pass(9'999);
  EXPECT_EQ(asked->times_done, 0);
  pass(1);
  EXPECT_EQ(asked->times_done, 1);
  EXPECT_EQ(asked->verdict, Verdict::kNoAnswer);
  EXPECT_EQ(patient->times_done, 0);
  log_in(kD);
  EXPECT_EQ(count(at(kD).take_sent(), kAsking), 1) << "the one that still waits";
}

TEST_F(ClusterRepliesTest, WhoIsSentToANodeThatCannotBeReachedIsAnsweredWhenItsBreakerOpens) {
  options_.node.breaker.failures_in_a_row = 1;
  connect();
  const auto asked = call_on(kA);
  EXPECT_FALSE(store_->start(*asked));
  at(kA).say(redirect("ASK", tag_on(kA), kD));
  pass(0);
  ASSERT_TRUE(at(kD).open());
  at(kD).cut("Connection refused");
  pass(0);
  EXPECT_EQ(asked->times_done, 1);
  EXPECT_EQ(asked->verdict, Verdict::kNoAnswer);
}

// The server keeps sending something, so its connection stays; but the awaited reply does not come.
TEST_F(ClusterRepliesTest, WhoWaitsToBeAskedForIsAnsweredWhenTheBreakerOpens) {
  options_.node.breaker.failures_in_a_row = 1;
  options_.node.operation_timeout_us = 50'000;
  connect();
  const auto before = call_on(kB), asked = call_on(kA);
  EXPECT_FALSE(store_->start(*before));
  EXPECT_FALSE(store_->start(*asked));
  at(kA).say(redirect("ASK", tag_on(kA), kB));
  pass(49'999);
  at(kB).say("*3\r\n:18000");
  EXPECT_EQ(asked->times_done, 0);
  pass(1);
  ASSERT_TRUE(at(kB).open());
  EXPECT_EQ(asked->times_done, 1);
  EXPECT_EQ(asked->verdict, Verdict::kNoAnswer);
  EXPECT_EQ(count(at(kB).take_sent(), kAsking), 0);
}

TEST_F(ClusterRepliesTest, EachReplyHasItsAction) {
  enum class Then { kGoesToD, kAsksD, kComesBack, kComesBackOnANewConnection, kFails };
  using enum Then;
  const struct {
    const char* about;
    std::string reply;
    Then then;
    bool opens_breaker;
  } cases[] = {
      {"moved", redirect("MOVED", tag_on(kA), kD), kGoesToD, false},
      {"being moved", redirect("ASK", tag_on(kA), kD), kAsksD, false},
      {"half moved", kTryAgain, kComesBack, false},
      {"down", "-CLUSTERDOWN The cluster is down\r\n", kFails, true},
      {"nobody's slot", "-CLUSTERDOWN Hash slot not served\r\n", kFails, false},
      {"a replica", "-READONLY You can't write against a read only replica.\r\n", kComesBackOnANewConnection,
       true},
      {"a lonely replica", "-MASTERDOWN Link with MASTER is down\r\n", kComesBackOnANewConnection, true},
      {"our mistake", "-CROSSSLOT Keys in request don't hash to the same slot\r\n", kFails, true},
      {"moved to nowhere", "-MOVED 1 ?:7003\r\n", kFails, false},
      {"moved to nonsense", "-MOVED here\r\n", kFails, false},
  };
  for (const auto& c : cases) {
    SCOPED_TRACE(c.about);
    options_.node.breaker.failures_in_a_row = 2;
    connect();
    const auto asked = call_on(kA);
    EXPECT_FALSE(store_->start(*asked));
    const std::string command = at(kA).take_sent();
    EXPECT_THAT(command, HasSubstr(kEvalsha));
    at(kA).say(c.reply);
    EXPECT_EQ(at(kA).open(), c.then != kComesBackOnANewConnection);
    EXPECT_EQ(asked->times_done, c.then == kFails ? 1 : 0);
    switch (c.then) {
      case kGoesToD:
        pass(0);
        log_in(kD);
        EXPECT_EQ(at(kD).take_sent(), command);
        at(kD).say(answer());
        break;
      case kAsksD:
        pass(0);
        log_in(kD);
        EXPECT_EQ(at(kD).take_sent(), std::string(kAsking) + command);
        at(kD).say("+OK\r\n" + answer());
        break;
      case kComesBack:
        pass(999);
        EXPECT_EQ(at(kA).take_sent(), "");
        pass(4'001);
        EXPECT_EQ(at(kA).take_sent(), command);
        at(kA).say(answer());
        break;
      case kComesBackOnANewConnection:
        pass(20'000);
        log_in(kA);
        EXPECT_EQ(at(kA).take_sent(), command);
        at(kA).say(answer());
        break;
      case kFails:
        EXPECT_EQ(asked->verdict, Verdict::kNoAnswer);
        break;
    }
    EXPECT_EQ(asked->times_done, 1);
    if (c.then != kFails) {
      EXPECT_TRUE(asked->allowed());
      EXPECT_EQ(asked->remaining(), 9);
      EXPECT_EQ(asked->results_known, 1u);
    }
    // A MOVED is remembered, an ASK is not.
    const auto next = call_on(kA);
    store_->start(*next);
    EXPECT_EQ(count(at(c.then == kGoesToD ? kD : kA).take_sent(), kEvalsha), 1);
    if (c.then != kFails) continue;
    at(kA).say(c.reply);
    const auto third = call_on(kA);
    EXPECT_EQ(store_->start(*third), c.opens_breaker) << "the node is to blame, or it is not";
  }
}

TEST_F(ClusterRepliesTest, AMissingScriptIsSentAlongWithAnAskToo) {
  connect();
  const auto asked = call_on(kA);
  store_->start(*asked);
  at(kA).say(redirect("ASK", tag_on(kA), kB));
  EXPECT_THAT(at(kB).take_sent(), StartsWith(kAsking));
  at(kB).say("+OK\r\n-NOSCRIPT No matching script.\r\n");
  const std::string again = at(kB).take_sent();
  EXPECT_THAT(again, StartsWith(kAsking));
  EXPECT_THAT(again, HasSubstr("$4\r\nEVAL\r\n$8\r\nreturn 1\r\n"));
  at(kB).say("+OK\r\n" + answer());
  EXPECT_TRUE(asked->allowed());
}

TEST_F(ClusterRepliesTest, OneOfManyCommandsBringsTheMissingScript) {
  options_.node.batches_in_flight = 2;
  connect();
  const auto first = call_on(kA), second = call({charge(tag_on(kA, 1))});
  store_->start(*first);
  store_->start(*second);
  at(kA).take_sent();
  at(kA).say("-NOSCRIPT no\r\n-NOSCRIPT no\r\n");
  const std::string again = at(kA).take_sent();
  EXPECT_EQ(count(again, "return 1"), 1);
  EXPECT_EQ(count(again, kEvalsha), 1);
  at(kA).say(answer() + answer());
  EXPECT_TRUE(first->allowed() && second->allowed());
}

TEST_F(ClusterRepliesTest, ACallThatIsSentInCirclesIsGivenUp) {
  connect();
  const auto asked = call_on(kA);
  store_->start(*asked);
  int commands = 0;
  for (int i = 0; i < 20 && asked->times_done == 0; ++i) {
    for (const auto& [from, to] : {std::pair{kA, kB}, {kB, kA}}) {
      if (at(from).take_sent().empty()) continue;
      ++commands;
      at(from).say(redirect("MOVED", tag_on(kA), to));
    }
    pass(5'000);
  }
  EXPECT_EQ(commands, 6) << "one, and five hops";
  EXPECT_EQ(asked->times_done, 1);
  EXPECT_EQ(asked->verdict, Verdict::kNoAnswer);
  EXPECT_EQ(store_->stats().redirected_too_often, 1u);
}

TEST_F(ClusterRepliesTest, ANodeThatSendsToItselfGetsANewConnection) {
  connect();
  const auto asked = call_on(kA);
  store_->start(*asked);
  at(kA).take_sent();
  at(kA).say(redirect("MOVED", tag_on(kA), ":7000"));  // no host: the host of the server that was asked
  EXPECT_FALSE(at(kA).open());
  EXPECT_EQ(asked->times_done, 0);
  pass(10'000);
  log_in(kA);
  EXPECT_THAT(at(kA).take_sent(), HasSubstr(kEvalsha));
  at(kA).say(answer());
  EXPECT_TRUE(asked->allowed());
}

// The record of a request id is written in one step with the charge, so the two cannot be on two nodes.
TEST_F(ClusterRepliesTest, ARequestIdOnASlotThatStaysHalfMovedIsShedAtTheDeadline) {
  std::vector<std::string> news;
  options_.node.on_news = [&](LogEvent, std::string_view sentence) { news.emplace_back(sentence); };
  connect();
  const auto asked = call_on(kA, 20'000);
  asked->dedupe = Dedupe{{5, 5}, 7, kSecond};
  store_->start(*asked);
  int tries = 0;
  for (int us = 0; us < 20'000; us += 1'000) {
    EXPECT_EQ(asked->times_done, 0);
    if (!at(kA).take_sent().empty()) {
      ++tries;
      at(kA).say(kTryAgain);
    }
    EXPECT_LE(store_->next_due_us(), asked->deadline_us);
    pass(1'000);
  }
  EXPECT_GE(tries, 4);
  EXPECT_EQ(asked->times_done, 1);
  EXPECT_EQ(asked->verdict, Verdict::kShed) << "the nodes answer: the failure rule is not for it";
  EXPECT_EQ(store_->node_stats().shed_slot_moving, 1u);
  EXPECT_THAT(store_->health().problems, testing::Contains(HasSubstr("on two nodes")));
  EXPECT_THAT(news, testing::ElementsAre(HasSubstr("on two nodes")));
  const auto in_flight = call_on(kA, 20'000);
  in_flight->dedupe = Dedupe{{6, 6}, 7, kSecond};
  store_->start(*in_flight);
  at(kA).take_sent();
  at(kA).say(kTryAgain);
  pass(5'000);
  EXPECT_THAT(at(kA).take_sent(), HasSubstr(kEvalsha));
  pass(15'000);
  EXPECT_EQ(in_flight->verdict, Verdict::kShed) << "it was on its way once more";
  at(kA).say(kTryAgain);
  const auto undated = call_on(kA);
  undated->dedupe = Dedupe{{7, 7}, 7, kSecond};
  store_->start(*undated);
  for (int us = 0; us < 100'000; us += 5'000) {
    if (!at(kA).take_sent().empty()) at(kA).say(kTryAgain);
    pass(5'000);
  }
  EXPECT_EQ(undated->times_done, 1) << "without a deadline, after the operation timeout";
  EXPECT_EQ(undated->verdict, Verdict::kShed);
  pass(10 * kSecond);
  EXPECT_THAT(store_->health().problems, Not(testing::Contains(HasSubstr("on two nodes"))));
  EXPECT_THAT(news, testing::ElementsAre(HasSubstr("on two nodes"), HasSubstr("any more")));
}

// One of the keys is still here, the other one is not, or is new.
TEST_F(ClusterRepliesTest, OnAHalfMovedSlotACallIsChargedKeyByKey) {
  connect();
  const std::uint32_t tag = tag_on(kA);
  for (const bool admitted : {true, false}) {
    const auto asked = call({charge(tag, 1), charge(tag, 2)}, 20'000);
    store_->start(*asked);
    at(kA).take_sent();
    at(kA).say(kTryAgain);
    EXPECT_EQ(count(at(kA).take_sent(), kEvalsha), 2) << "at once";
    at(kA).say(answer(admitted) + redirect("ASK", tag, kB));
    EXPECT_THAT(at(kB).take_sent(), StartsWith(kAsking));
    EXPECT_EQ(asked->times_done, 0);
    at(kB).say("+OK\r\n" + answer());
    EXPECT_EQ(asked->times_done, 1);
    EXPECT_EQ(asked->verdict, admitted ? Verdict::kAllowed : Verdict::kDenied);
    EXPECT_EQ(asked->results_known, 2u);
    EXPECT_EQ(asked->remaining(1), admitted ? 9 : 10);
    EXPECT_EQ(count(at(kA).take_sent(), kEvalsha), admitted ? 0 : 1) << "a refund, if the other one denied";
    EXPECT_EQ(store_->stats().refunds, admitted ? 0u : 1u);
  }
  EXPECT_EQ(store_->stats().split_by_key, 2u);
}

// The keys have moved, but the slot is not assigned yet: the new node takes several keys only if it has all.
TEST_F(ClusterRepliesTest, ACallThatTheNewNodeCannotDecideYetIsChargedKeyByKey) {
  connect();
  const std::uint32_t tag = tag_on(kA);
  const auto asked = call({charge(tag, 1), charge(tag_on(kC)), charge(tag, 2)}, 20'000);
  store_->start(*asked);
  at(kC).say(answer());
  at(kA).take_sent();
  at(kA).say(redirect("ASK", tag, kB));
  at(kB).take_sent();
  at(kB).say(std::string("+OK\r\n") + kTryAgain);
  EXPECT_EQ(count(at(kA).take_sent(), kEvalsha), 2);
  at(kA).say(redirect("ASK", tag, kB) + redirect("ASK", tag, kB));
  std::string sent = at(kB).take_sent();
  at(kB).say("+OK\r\n" + answer());
  sent += at(kB).take_sent();
  EXPECT_EQ(count(sent, kAsking), 2);
  at(kB).say("+OK\r\n" + answer());
  EXPECT_TRUE(asked->allowed());
  EXPECT_EQ(asked->results_known, 3u);
}

// While keys are on two nodes, they cannot share a command; each key on its own finds its node.
TEST_F(ClusterRepliesTest, InAHalfMovedSlotEveryKeyGoesAlone) {
  connect();
  const std::uint32_t tag = tag_on(kA);
  std::vector<std::unique_ptr<TestCall>> calls;
  for (const std::uint64_t key : {9, 1, 2, 1, 3}) calls.push_back(call({charge(tag, key)}));
  for (const auto& each : calls) store_->start(*each);
  at(kA).say(answer());
  EXPECT_EQ(count(at(kA).take_sent(), kEvalsha), 2) << "alone, then the other four";
  at(kA).say(kTryAgain);
  pass(5'000);
  EXPECT_EQ(count(at(kA).take_sent(), kEvalsha), 3) << "key 1 once for both";
  const std::string twice = "*3\r\n:1800000000000000\r\n$-1\r\n:2\r\n";
  at(kA).say(twice + answer() + redirect("ASK", tag, kB));
  EXPECT_EQ(count(at(kB).take_sent(), kEvalsha), 1);
  at(kB).say("+OK\r\n" + answer());
  for (const auto& each : calls) EXPECT_TRUE(each->allowed());
}

TEST_F(ClusterRepliesTest, AMoveBringsANewMapSoonAndOnlyOne) {
  connect();
  pass(kSecond);  // the map is fetched again until all nodes were connected
  answer_refreshes(whole_map());
  const std::uint64_t before = store_->stats().refreshes;
  pass(kSecond);
  EXPECT_EQ(store_->stats().refreshes, before) << "all is well";
  std::vector<std::unique_ptr<TestCall>> calls;
  for (int i = 0; i < 50; ++i) {
    const std::uint32_t tag = tag_on(kA, i);
    calls.push_back(call({charge(tag)}));
    store_->start(*calls.back());
    at(kA).say(redirect("MOVED", tag, kB));
    pass(100);
  }
  EXPECT_EQ(store_->stats().refreshes, before + 1);
}

TEST_F(ClusterRepliesTest, SentAwayCallsKeepTheirDeadline) {
  connect();
  const auto asked = call_on(kA, 10'000);
  store_->start(*asked);
  at(kA).say(redirect("MOVED", tag_on(kA), kD));
  pass(9'999);  // D does not even connect
  EXPECT_EQ(asked->times_done, 0);
  EXPECT_EQ(store_->next_due_us(), asked->deadline_us);
  pass(1);
  EXPECT_EQ(asked->times_done, 1);
  EXPECT_EQ(asked->verdict, Verdict::kNoAnswer);
}

TEST_F(ClusterRepliesTest, TheProbeOfANodeThatLostItsSlotsFindsItWell) {
  options_.node.breaker.failures_in_a_row = 1;
  connect();
  const auto asked = call_on(kA);
  store_->start(*asked);
  at(kA).say("-CLUSTERDOWN The cluster is down\r\n");
  EXPECT_EQ(asked->verdict, Verdict::kNoAnswer);
  EXPECT_FALSE(store_->health().connected);
  EXPECT_THAT(store_->health().problems, testing::Contains(HasSubstr("see CLUSTER INFO")));
  at(kA).take_sent();
  pass(750'000);
  const std::string sent = at(kA).take_sent();
  EXPECT_THAT(sent, HasSubstr(kEvalsha)) << "the probe";
  at(kA).say((sent.contains("CLUSTER") ? report(whole_map()) : "") + redirect("MOVED", 0, kB));
  EXPECT_THAT(at(kB).take_sent(), Not(HasSubstr(kEvalsha))) << "a probe goes nowhere else";
  EXPECT_TRUE(store_->health().connected);
  EXPECT_THAT(store_->health().problems, IsEmpty());
}

}  // namespace
}  // namespace sluice

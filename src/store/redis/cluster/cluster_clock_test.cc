#include <gmock/gmock.h>

#include "store/redis/testing/cluster_replies_fixture.h"

namespace sluice {
namespace {

using testing::Contains;
using testing::HasSubstr;
using testing::IsEmpty;

// A node of a Cluster whose clock is wrong; and a seed that is not in a Cluster.
class ClusterClockTest : public ClusterRepliesFixture {
 protected:
  std::string answer_at(std::int64_t ahead_us) const {
    return "*3\r\n:" + std::to_string(clock_.now_us() + ahead_us) + "\r\n$-1\r\n:1\r\n";
  }
  // Time passes; all nodes answer commands other than checks, and answer probes with the right time.
  void let_pass(std::int64_t us) {
    pass(us);
    for (const char* place : {kA, kB, kC}) {
      const std::string sent = at(place).take_sent();
      const std::size_t map = sent.find(kMapCommands), probe = sent.find(kEvalsha);
      probes_ += probe != sent.npos;
      if (map < probe) at(place).say(report(whole_map()));
      if (probe != sent.npos) at(place).say(answer_at(0));
      if (map > probe && map != sent.npos) at(place).say(report(whole_map()));
    }
  }
  // All nodes are asked once, and report their time.
  void hear(std::int64_t a_us, std::int64_t b_us, std::int64_t c_us) {
    for (const auto& [place, ahead_us] : {std::pair{kA, a_us}, {kB, b_us}, {kC, c_us}}) {
      const auto asked = call_on(place);
      if (store_->start(*asked)) continue;
      at(place).take_sent();
      at(place).say(answer_at(ahead_us));
    }
    let_pass(kSecond);
  }
  bool is_left_out(const char* place) {
    const auto asked = call_on(place);
    if (store_->start(*asked)) {
      EXPECT_EQ(asked->verdict, Verdict::kNoAnswer);
      return true;
    }
    at(place).take_sent();
    at(place).say(answer_at(0));
    return false;
  }

  int probes_ = 0;
};

TEST_F(ClusterClockTest, ANodeWithAWrongClockIsLeftOutUntilItIsMended) {
  std::vector<std::string> news;
  options_.node.on_news = [&](LogEvent, std::string_view sentence) { news.emplace_back(sentence); };
  connect();
  hear(0, 0, 0);
  EXPECT_THAT(store_->health().problems, IsEmpty());
  let_pass(10 * kSecond);
  hear(0, 5 * kSecond, 0);
  EXPECT_FALSE(is_left_out(kA));
  EXPECT_TRUE(is_left_out(kB));
  EXPECT_FALSE(store_->health().connected);
  EXPECT_THAT(store_->health().problems,
              Contains(HasSubstr("its clock differs by more than 1 s from that of most others")));
  EXPECT_EQ(probes_, 0);
  for (int i = 0; i < 25; ++i) let_pass(kSecond);
  EXPECT_THAT(news, Contains(HasSubstr("is left out")));
  EXPECT_GT(probes_, 0) << "on a slot of its own";
  EXPECT_FALSE(is_left_out(kB));
  EXPECT_THAT(news, Contains(HasSubstr("is used again")));
}

TEST_F(ClusterClockTest, OurOwnWrongClockLeavesNobodyOut) {
  connect();
  hear(3600 * kSecond, 3600 * kSecond, 3600 * kSecond);
  for (const char* place : {kA, kB, kC}) EXPECT_FALSE(is_left_out(place));
}

const std::string kDisabled = "-ERR This instance has cluster support disabled\r\n";

TEST_F(ClusterClockTest, ASeedWithoutAClusterIsOneServerThatHasAll) {
  make_store();
  pass(0);
  log_in(kA);
  pass(0);
  EXPECT_EQ(at(kA).take_sent(), kMapCommands);
  at(kA).say(kDisabled + kDisabled);
  EXPECT_TRUE(store_->health().connected);
  EXPECT_THAT(store_->health().problems, IsEmpty());
  const auto asked = call({charge(tag_on(kA), 1), charge(tag_on(kC), 2)});
  EXPECT_FALSE(store_->start(*asked));
  EXPECT_EQ(count(at(kA).take_sent(), kEvalsha), 1) << "one step, whatever the slots";
  at(kA).say(answer(true, 2));
  EXPECT_TRUE(asked->allowed());
  EXPECT_EQ(store_->stats().split_calls, 0u);
  pass(60 * kSecond);
  EXPECT_THAT(at(kA).take_sent(), testing::Not(HasSubstr(kMapCommands)));
}

TEST_F(ClusterClockTest, AServerThatTurnsOutToHaveSlotsIsAloneNoMore) {
  make_store();
  pass(0);
  log_in(kA);
  pass(0);
  at(kA).take_sent();
  at(kA).say(kDisabled + kDisabled);
  const auto both = call({charge(tag_on(kA), 1), charge(tag_on(kA, 1), 2)});
  EXPECT_FALSE(store_->start(*both));
  at(kA).take_sent();
  at(kA).say("-CROSSSLOT Keys in request don't hash to the same slot\r\n");
  for (int slots = 0; slots < 2; ++slots) {
    EXPECT_EQ(count(at(kA).take_sent(), kEvalsha), 1) << "a command for each slot";
    at(kA).say(answer());
  }
  EXPECT_TRUE(both->allowed());
  pass(kSecond);
  EXPECT_THAT(at(kA).take_sent(), HasSubstr(kMapCommands)) << "who else is there?";
}

TEST_F(ClusterClockTest, OfSeveralSeedsNoneIsBelievedToBeAlone) {
  options_.seeds.push_back({.host = "b", .port = 7001});
  make_store();
  pass(0);
  log_in(kA);
  pass(0);
  EXPECT_EQ(at(kA).take_sent(), kMapCommands);
  at(kA).say(kDisabled + kDisabled);
  EXPECT_FALSE(store_->health().connected);
  EXPECT_THAT(store_->health().problems, Contains(HasSubstr("cluster support disabled")));
}

}  // namespace
}  // namespace sluice

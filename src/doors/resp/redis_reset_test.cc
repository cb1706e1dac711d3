// DEL over the Redis protocol.
#include "doors/resp/redis_reset.h"

#include "doors/resp/redis_door.h"
#include "doors/testing/doors_fixture.h"
#include "engine/testing/late_store.h"

namespace sluice::doors::testing {
namespace {

class RedisResetTest : public DoorsFixture {
 protected:
  void SetUp() override {
    options.on_reset = [this](const ResetReport& report) { trace.push_back(report.sentence()); };
  }
  std::string say(std::vector<std::string_view> words) {
    net::TestReply<std::string> reply;
    door.handle(words, reply);
    return reply.answer();
  }
  void use_up(std::string_view key) { say({"CL.THROTTLE", key, "0", "1", "3600"}); }
  bool is_used_up(std::string_view key) {
    return say({"CL.THROTTLE", key, "0", "1", "3600", "0"}).starts_with("*5\r\n:0\r\n:1\r\n:0\r\n");
  }

  DoorContext context{engine, options, 1};
  ThrottleLimits limits{snapshots, params};
  RedisDoor door{context, limits, peer};
  std::vector<std::string> trace;
};

TEST_F(RedisResetTest, ForgetsTheKeysAndTellsTheAuditOnce) {
  for (const std::string_view key : {"a", "b", "c"}) use_up(key);
  EXPECT_EQ(say({"del", "a", "b", "nobody", "a"}), ":2\r\n");
  EXPECT_FALSE(is_used_up("a"));
  EXPECT_FALSE(is_used_up("b"));
  EXPECT_TRUE(is_used_up("c"));
  ASSERT_EQ(trace.size(), 1u);
  EXPECT_EQ(trace[0], R"(loopback at 127.0.0.1 reset 2 counters of policy "cl.throttle" without a reason)");
  EXPECT_EQ(say({"DEL", "nobody"}), ":0\r\n");
}

TEST_F(RedisResetTest, ABadKeyResetsNothing) {
  use_up("a");
  EXPECT_EQ(say({"DEL", "a", ""}), "-ERR the key is empty\r\n");
  EXPECT_EQ(say({"DEL", "a", std::string(257, 'k')}), "-ERR the key is longer than 256 bytes\r\n");
  EXPECT_TRUE(is_used_up("a"));
  EXPECT_TRUE(trace.empty());
}

TEST_F(RedisResetTest, NeedsTheRoleThatResetsNeed) {
  use_up("a");
  peer.is_trusted = false;
  EXPECT_TRUE(say({"DEL", "a"}).starts_with("-NOAUTH ")) << "checks need no token, resets do";
  peer.is_trusted = true;
  options.can_record_reset = [] { return false; };
  EXPECT_TRUE(say({"DEL", "a"}).starts_with("-TRYAGAIN "));
  options.can_record_reset = {};
  options.admins_have_a_port = true;
  EXPECT_TRUE(say({"DEL", "a"}).starts_with("-NOPERM "));
  EXPECT_TRUE(is_used_up("a"));
  EXPECT_TRUE(trace.empty());
}

TEST_F(RedisResetTest, AnswersWhenTheStoreHas) {
  sluice::testing::LateStore late{store};
  Engine late_engine{{late, snapshots, hasher, clock, totals}};
  DoorContext late_context{late_engine, options, 1};
  RedisDoor late_door{late_context, limits, peer};
  const std::vector<std::string_view> words = {"DEL", "a"};
  for (const int existed : {1, -1}) {
    trace.clear();
    net::TestReply<std::string> reply;
    late_door.handle(words, reply);
    EXPECT_FALSE(reply.is_answered());
    EXPECT_TRUE(trace.empty()) << "it is told when it is done";
    late.answer_resets(existed);
    EXPECT_TRUE(reply.answer().starts_with(existed < 0 ? "-TRYAGAIN " : ":1\r\n")) << reply.answer();
    EXPECT_EQ(trace.size(), existed < 0 ? 0u : 1u);
  }
}

}  // namespace
}  // namespace sluice::doors::testing

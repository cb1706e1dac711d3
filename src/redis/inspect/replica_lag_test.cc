#include "redis/inspect/replica_lag.h"

#include <gtest/gtest.h>

#include "base/time_units.h"

namespace sluice::redis {
namespace {

using enum ReplicaLag::Ask;

std::string master_at(int offset, const std::string& history = "h1") {
  return "# Replication\r\nrole:master\r\nmaster_replid:" + history +
         "\r\nmaster_repl_offset:" + std::to_string(offset) + "\r\n";
}
std::string replica_at(int offset, const std::string& history = "h1", const std::string& link = "up") {
  return "# Replication\r\nrole:slave\r\nmaster_link_status:" + link +
         "\r\nslave_repl_offset:" + std::to_string(offset) + "\r\nmaster_replid:" + history +
         "\r\nmaster_repl_offset:999\r\n";
}

TEST(ReplicaLag, AReplicaAsFarAsItsMasterWasIsFreshForASecond) {
  ReplicaLag lag;
  EXPECT_FALSE(lag.fresh(0));
  EXPECT_EQ(lag.next(0), kMaster);
  EXPECT_EQ(lag.next(kSecondUs), kNobody) << "one question at a time";
  lag.on_master(master_at(100));
  EXPECT_EQ(lag.next(100'000), kReplica);
  EXPECT_EQ(lag.next(kSecondUs), kNobody);
  lag.on_replica(replica_at(100));
  EXPECT_TRUE(lag.fresh(kSecondUs)) << "as of the first question";
  EXPECT_FALSE(lag.fresh(kSecondUs + 1));
  EXPECT_EQ(lag.next(399'999), kNobody);
  EXPECT_EQ(lag.next(400'000), kMaster);
  lag.doubt();
  EXPECT_FALSE(lag.fresh(400'000));
}

TEST(ReplicaLag, AnythingElseIsNotFresh) {
  const struct {
    const char* about;
    std::string master, replica;
  } cases[] = {
      {"behind", master_at(100), replica_at(99)},
      {"without its master", master_at(100), replica_at(100, "h1", "down")},
      {"of another master", master_at(100), replica_at(200, "h2")},
      {"promoted", master_at(100), master_at(100)},
      {"silent", master_at(100), ""},
      {"odd", master_at(100), "what?"},
  };
  for (const auto& c : cases) {
    ReplicaLag lag;
    EXPECT_EQ(lag.next(0), kMaster);
    lag.on_master(c.master);
    EXPECT_EQ(lag.next(0), kReplica);
    lag.on_replica(c.replica);
    EXPECT_FALSE(lag.fresh(0)) << c.about;
    EXPECT_EQ(lag.next(400'000), kMaster) << c.about;
  }
}

TEST(ReplicaLag, WithoutAMasterNobodyIsCompared) {
  for (const std::string& answer : {std::string(), replica_at(1), std::string("role:master\r\n")}) {
    ReplicaLag lag;
    EXPECT_EQ(lag.next(0), kMaster);
    lag.on_master(answer);
    EXPECT_EQ(lag.next(0), kNobody);
    EXPECT_EQ(lag.next(400'000), kMaster);
  }
}

}  // namespace
}  // namespace sluice::redis

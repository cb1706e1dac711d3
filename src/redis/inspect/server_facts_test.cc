#include "redis/inspect/server_facts.h"

#include <gmock/gmock.h>

#include "base/limits.h"

namespace sluice::redis {
namespace {

using testing::IsEmpty;
using testing::SizeIs;

ServerFacts facts_of(std::string_view text) {
  ServerFacts facts;
  read_info(text, facts);
  return facts;
}

TEST(ServerFacts, OfRedis7) {
  ServerFacts facts = facts_of(
      "# "
      "Server\r\nredis_version:7.0.15\r\nredis_git_sha1:00000000\r\nredis_git_dirty:0\r\nredis_build_id:"
      "ae4d7c971a948f0\r\n"
      "redis_mode:standalone\r\nos:Linux 6.1.0-18-amd64 x86_64\r\nserver_time_usec:1794784966615706\r\n"
      "executable:/usr/bin/redis-server\r\nconfig_file:\r\nio_threads_active:0\r\n");
  read_info(
      "# Memory\r\nused_memory:1293288\r\nused_memory_peak_perc:98.45%\r\ntotal_system_memory:25276530688\r\n"
      "maxmemory:104857600\r\nmaxmemory_human:100.00M\r\nmaxmemory_policy:allkeys-lru\r\nmem_allocator:"
      "jemalloc-5.3.0\r\n",
      facts);
  read_info(
      "# Replication\r\nrole:master\r\nconnected_slaves:2\r\n"
      "slave0:ip=127.0.0.1,port=47372,state=online,offset=1252,lag=3\r\n"
      "slave1:ip=::1,port=47373,state=wait_bgsave,offset=0,lag=0\r\nmaster_failover_state:no-failover\r\n"
      "master_replid:506e0d30daae5af199e20379b4e449ac7f1391a1\r\nmaster_repl_offset:2000\r\nsecond_repl_"
      "offset:-1\r\n"
      "repl_backlog_active:1\r\nrepl_backlog_histlen:1252\r\n",
      facts);
  EXPECT_EQ(facts.version, "7.0.15");
  EXPECT_EQ(facts.eviction, "allkeys-lru");
  EXPECT_EQ(facts.memory_bytes_max, 104857600);
  EXPECT_EQ(facts.memory_bytes, 1293288);
  EXPECT_FALSE(facts.lost_its_master);
  EXPECT_EQ(facts.offset, 2000);
  ASSERT_THAT(facts.replicas, SizeIs(2));
  EXPECT_EQ(facts.replicas[0].place, "127.0.0.1:47372");
  EXPECT_TRUE(facts.replicas[0].online);
  EXPECT_EQ(facts.replicas[0].offset, 1252);
  EXPECT_EQ(facts.replicas[0].silent_s, 3);
  EXPECT_FALSE(facts.replicas[1].online);
}

TEST(ServerFacts, OfAReplica) {
  const char start[] =
      "# Replication\r\nrole:slave\r\nmaster_host:127.0.0.1\r\nmaster_port:47371\r\nmaster_link_status:";
  const char rest[] =
      "\r\nmaster_last_io_seconds_ago:2\r\nmaster_sync_in_progress:0\r\nslave_read_repl_offset:1252\r\n"
      "slave_repl_offset:1252\r\nslave_priority:100\r\nslave_read_only:1\r\nreplica_announced:1\r\nconnected_"
      "slaves:0\r\n";
  EXPECT_TRUE(facts_of(start + std::string("down") + rest).lost_its_master);
  const ServerFacts facts = facts_of(start + std::string("up") + rest);
  EXPECT_FALSE(facts.lost_its_master);
  EXPECT_THAT(facts.replicas, IsEmpty());
}

TEST(ServerFacts, OfNonsense) {
  for (const char* text :
       {"", "\r\n", ":", "maxmemory", "maxmemory:", "maxmemory:lots\r\n", "maxmemory:1x", "=,=,:::"}) {
    const ServerFacts facts = facts_of(text);
    EXPECT_EQ(facts.memory_bytes_max, std::nullopt) << text;
    EXPECT_THAT(facts.version, IsEmpty());
    EXPECT_THAT(facts.replicas, IsEmpty());
  }
  const ServerFacts odd = facts_of("slave0:,,=,ip,offset=x,lag=\nslave0");
  ASSERT_THAT(odd.replicas, SizeIs(2));
  EXPECT_EQ(odd.replicas[0].place, ":");
}

TEST(ServerFacts, AreBounded) {
  std::string text = "redis_version:" + std::string(100'000, '7') + "\r\n";
  for (int i = 0; i < 1000; ++i) text += "slave" + std::to_string(i) + ":ip=a,port=1\r\n";
  const ServerFacts facts = facts_of(text);
  EXPECT_LT(facts.version.size(), 100u);
  EXPECT_THAT(facts.replicas, SizeIs(kReplicasMax));
}

}  // namespace
}  // namespace sluice::redis

#include "redis/inspect/advice.h"

#include <gmock/gmock.h>

#include "base/time_units.h"

namespace sluice::redis {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

std::vector<std::string> advice_on(const ServerFacts& facts) { return advise({.host = "::1"}, facts, {}); }

TEST(Advice, NothingKnownNothingSaid) { EXPECT_THAT(advice_on({}), IsEmpty()); }

TEST(Advice, Eviction) {
  const struct {
    const char* policy;
    std::optional<std::int64_t> limit;
    bool bad;
  } cases[] = {
      {"noeviction", 100, false}, {"noeviction", 0, false},    {"allkeys-lru", 0, false},
      {"allkeys-lru", 100, true}, {"volatile-ttl", 100, true}, {"allkeys-random", std::nullopt, true},
      {"", 100, false},
  };
  for (const auto& c : cases)
    EXPECT_THAT(advice_on({.eviction = c.policy, .memory_bytes_max = c.limit}), SizeIs(c.bad ? 1 : 0))
        << c.policy;
  EXPECT_THAT(
      advice_on({.eviction = "allkeys-lru", .memory_bytes_max = 100}),
      ElementsAre("maxmemory-policy is allkeys-lru: Redis may evict counters of keys that are over their "
                  "limit; set it to noeviction"));
}

TEST(Advice, MemoryThatIsNearlyUsedUp) {
  const auto of = [](std::int64_t used, std::int64_t most) {
    return advice_on({.eviction = "noeviction", .memory_bytes_max = most, .memory_bytes = used});
  };
  EXPECT_THAT(of(901, 1'000), ElementsAre(HasSubstr("more than 90 % of maxmemory is used")));
  EXPECT_THAT(of(900, 1'000), IsEmpty());
  EXPECT_THAT(of(901, 0), IsEmpty()) << "there is no limit";
  EXPECT_THAT(advice_on({.eviction = "noeviction", .memory_bytes_max = 1}), IsEmpty()) << "nobody said";
}

TEST(Advice, Version) {
  for (const char* good :
       {"7.0.15", "6.2.0", "6.2", "8.0.1", "10.0.0", "255.255.255", "", "unstable", "6", "6."})
    EXPECT_THAT(advice_on({.version = good}), IsEmpty()) << good;
  for (const char* old : {"6.0.16", "5.0.14", "2.8.17", "6.1.9"})
    EXPECT_THAT(advice_on({.version = old}), ElementsAre(HasSubstr("older than 6.2"))) << old;
}

TEST(Advice, FullCoverageOfACluster) {
  EXPECT_THAT(advice_on({.is_cluster_node = true, .needs_all_slots = true}),
              ElementsAre(HasSubstr("cluster-require-full-coverage is yes")));
  EXPECT_THAT(advice_on({.is_cluster_node = true}), IsEmpty());
  EXPECT_THAT(advice_on({.needs_all_slots = true}), IsEmpty()) << "every server has the setting";
}

TEST(Advice, Replicas) {
  const ServerFacts::Replica good{.place = "a:1", .online = true, .offset = 1000, .silent_s = 1};
  EXPECT_THAT(advice_on({.replicas = {good}, .offset = 5000}), IsEmpty());
  EXPECT_THAT(
      advice_on({.replicas = {good}, .offset = 20 << 20}),
      ElementsAre("its replica a:1 lags behind, so a failover would lose counts; check its load and its "
                  "network"));
  ServerFacts::Replica bad = good;
  bad.silent_s = 11;
  EXPECT_THAT(advice_on({.replicas = {good, bad}, .offset = 5000}), SizeIs(1));
  bad = good;
  bad.online = false;
  EXPECT_THAT(advice_on({.replicas = {bad}, .offset = 5000}), SizeIs(1));
  EXPECT_THAT(advice_on({.lost_its_master = true}), ElementsAre(HasSubstr("lost its master")));
}

TEST(Advice, PlaintextBeyondLoopback) {
  for (const char* host :
       {"127.0.0.1", "127.8.8.8", "localhost", "cache.localhost", "::1", "::ffff:127.0.0.1"})
    EXPECT_THAT(advise({.host = host}, {}, {}), IsEmpty()) << host;
  for (const char* host :
       {"10.0.0.1", "127.evil.example", "cache", "localhost.evil.example", "::2", "1270.0.0.1"})
    EXPECT_THAT(advise({.host = host}, {}, {}), ElementsAre(HasSubstr("unencrypted"))) << host;
  EXPECT_THAT(advise({.host = "10.0.0.1", .tls = TlsSettings{}}, {}, {}), IsEmpty());
  EXPECT_THAT(advise({.unix_path = "/run/redis.sock"}, {}, {}), IsEmpty());
}

TEST(Advice, Clocks) {
  const auto advice_with = [](std::int64_t ahead_us) {
    ClockDelta clock;
    clock.note(100 * kSecondUs, 100 * kSecondUs + 100, 100 * kSecondUs + 50 + ahead_us);
    return advise({.host = "::1"}, {}, clock);
  };
  EXPECT_THAT(advice_with(900'000), IsEmpty());
  EXPECT_THAT(advice_with(-900'000), IsEmpty());
  EXPECT_THAT(advice_with(2 * kSecondUs), ElementsAre(HasSubstr("1 s ahead of ours")));
  EXPECT_THAT(advice_with(-2 * kSecondUs), ElementsAre(HasSubstr("1 s behind ours")));
}

}  // namespace
}  // namespace sluice::redis

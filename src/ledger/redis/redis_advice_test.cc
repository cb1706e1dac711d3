#include "ledger/redis/redis_advice.h"

#include <gmock/gmock.h>

namespace sluice::ledger {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

const redis::Address kHere{.host = "127.0.0.1"};

TEST(RedisPolicyAdvice, AServerThatKeepsEverythingGetsNone) {
  EXPECT_THAT(advise_policy_database(kHere, {}, {true, "", "always"}), IsEmpty());
  EXPECT_THAT(advise_policy_database(kHere, {}, {.appends = true}), IsEmpty()) << "it does not say";
  EXPECT_THAT(advise_policy_database(kHere, {}, {}), IsEmpty()) << "nothing is known";
}

TEST(RedisPolicyAdvice, WhatIsNotKeptOnDisk) {
  EXPECT_THAT(advise_policy_database(kHere, {}, {false, "", "everysec"}),
              ElementsAre(HasSubstr("nothing is persisted")));
  for (const RedisPersistence& some :
       {RedisPersistence{false, "3600 1", "everysec"}, RedisPersistence{.appends = false}})
    EXPECT_THAT(advise_policy_database(kHere, {}, some),
                ElementsAre(HasSubstr("since the last snapshot; set appendonly to yes")));
  EXPECT_THAT(advise_policy_database(kHere, {}, {true, "", "everysec"}),
              ElementsAre(HasSubstr("appendfsync is everysec")));
}

TEST(RedisPolicyAdvice, WhatMayBeEvicted) {
  const auto with = [](const char* eviction, std::int64_t memory) {
    return advise_policy_database(kHere, {.eviction = eviction, .memory_bytes_max = memory}, {});
  };
  EXPECT_THAT(with("allkeys-lru", 1), ElementsAre(HasSubstr("set it to noeviction")));
  EXPECT_THAT(with("allkeys-lru", 0), IsEmpty()) << "it has no bound";
  EXPECT_THAT(with("volatile-lru", 1), IsEmpty()) << "policies have no expiry";
  EXPECT_THAT(with("noeviction", 1), IsEmpty());
}

TEST(RedisPolicyAdvice, WhatTravelsInTheClear) {
  EXPECT_THAT(advise_policy_database({.host = "10.0.0.7"}, {}, {}), ElementsAre(HasSubstr("rediss://")));
  EXPECT_THAT(advise_policy_database({.host = "10.0.0.7", .tls = TlsSettings{}}, {}, {}), IsEmpty());
}

}  // namespace
}  // namespace sluice::ledger

#include "engine/lease/lease_book.h"

#include <gmock/gmock.h>

#include <map>
#include <random>

#include "base/limits/lease_limits.h"
#include "base/testing/seed.h"

namespace sluice {
namespace {

constexpr std::int64_t kNowUs = 1'800'000'000 * kSecondUs;

class LeaseBookTest : public ::testing::Test {
 protected:
  void grant(const std::string& id, std::string_view tenant, std::int64_t units = 1,
             const std::string& version = "p#1") {
    Lease lease;
    lease.id = id;
    lease.granted = units;
    lease.policy_version = version;
    lease.expires_unix_ms = (now_us_ + kLeaseLifeUs) / 1000;
    lease.expires_after_ms = kLeaseLifeUs / 1000;
    book_.add(lease, LeaseClaim(), tenant, now_us_);
  }
  std::size_t count(std::string_view tenant, std::string_view policy = "") {
    return book_.list(tenant, policy, 1'000'000, now_us_).size();
  }

  LeaseBook book_;
  std::int64_t now_us_ = kNowUs;
};

TEST_F(LeaseBookTest, ListsByTenantAndPolicyInTheOrderOfGranting) {
  grant("0123456789abcdef0123456789abcdef", "a", 5);
  grant("x2", "b", 7, "q#3");
  EXPECT_EQ(count(""), 2U);
  EXPECT_EQ(count("a"), 1U);
  EXPECT_EQ(count("", "q"), 1U);
  EXPECT_EQ(count("a", "q"), 0U);
  EXPECT_EQ(book_.list("a", "", 1, now_us_)[0].name, "0123456789abcdef") << "only the end of the id";
  EXPECT_EQ(book_.list("", "", 1, now_us_).size(), 1U);
}

TEST_F(LeaseBookTest, ALeaseThatIsOverIsGone) {
  grant("x1", "a", 5);
  grant("x2", "a", 3);
  EXPECT_THAT(book_.units_outstanding(now_us_), ::testing::ElementsAre(::testing::Pair("p", 8)));
  book_.remove("x2");
  EXPECT_THAT(book_.units_outstanding(now_us_), ::testing::ElementsAre(::testing::Pair("p", 5)));
  now_us_ += kLeaseLifeUs;
  EXPECT_THAT(book_.units_outstanding(now_us_), ::testing::IsEmpty());
}

TEST_F(LeaseBookTest, ARepeatedAnswerIsListedOnce) {
  grant("x1", "a");
  grant("x1", "a");
  EXPECT_EQ(count("a"), 1U);
}

TEST_F(LeaseBookTest, ATenantHidesOnlyItsOwnLeases) {
  grant("quiet", "quiet");
  for (std::size_t i = 0; i < 2 * kLeasesListedPerTenantMax; ++i) grant("x" + std::to_string(i), "loud");
  EXPECT_EQ(count("loud"), kLeasesListedPerTenantMax);
  EXPECT_EQ(count("quiet"), 1U);
  for (std::size_t i = 0; i < kLeasesListedMax; ++i) grant("y" + std::to_string(i), std::to_string(i));
  EXPECT_EQ(count(""), kLeasesListedMax);
}

TEST_F(LeaseBookTest, LongTextsAreBoundedInAll) {
  const std::string tenant(100'000, 't');
  for (int i = 0; i < 1'000; ++i) grant("x" + std::to_string(i), tenant + std::to_string(i));
  EXPECT_LE(count(""), kLeasesListedBytesMax / tenant.size());
  EXPECT_EQ(count(tenant + "999"), 1U) << "the newest are listed";
}

// Each is counted until it is over or returned, whatever happens to others.
TEST_F(LeaseBookTest, RandomLivesLeaveNothing) {
  const std::uint64_t seed = test_seed();
  SCOPED_TRACE("SLUICE_SEED=" + std::to_string(seed));
  std::mt19937_64 random(seed);
  std::map<std::string, std::int64_t> alive;  // when each is over
  for (int i = 0; i < 2'000; ++i) {
    const std::string id = "x" + std::to_string(random() % 500);
    if (random() % 3 == 0) {
      book_.remove(id);
      alive.erase(id);
    } else {
      grant(id, std::to_string(random() % 5));
      alive.try_emplace(id, now_us_ + kLeaseLifeUs);
    }
    now_us_ += static_cast<std::int64_t>(random() % (kLeaseLifeUs / 100));
    std::erase_if(alive, [&](const auto& each) { return each.second <= now_us_; });
    ASSERT_EQ(count(""), alive.size());
  }
  now_us_ += kLeaseLifeUs;
  EXPECT_EQ(count(""), 0U);
}

TEST_F(LeaseBookTest, WhatIsNoLongerListedStaysInTheSumUntilItExpires) {
  for (std::size_t i = 0; i < kLeasesListedPerTenantMax + 5; ++i) grant("x" + std::to_string(i), "loud", 3);
  const auto all = static_cast<std::int64_t>(3 * (kLeasesListedPerTenantMax + 5));
  EXPECT_THAT(book_.units_outstanding(now_us_), ::testing::ElementsAre(::testing::Pair("p", all)));
  book_.remove("x0");
  EXPECT_THAT(book_.units_outstanding(now_us_), ::testing::ElementsAre(::testing::Pair("p", all)))
      << "it is not known any more";
  now_us_ += kLeaseLifeUs;
  EXPECT_THAT(book_.units_outstanding(now_us_), ::testing::IsEmpty());
}

}  // namespace
}  // namespace sluice

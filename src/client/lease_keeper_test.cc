#include "client/lease_keeper.h"

#include <gtest/gtest.h>

#include <map>
#include <string>

#include "client/lease_terms.h"

namespace sluice {
namespace {

constexpr std::int64_t kKeeperStart = 1'000 * kSecondUs;

KeyHash hash_of(std::string_view subject) {
  static const KeyHasher hasher = KeyHasher::from_text("test");
  return hasher(subject);
}

// Notes what is asked for; the tests answer.
class LeaseKeeperTest : public testing::Test, public LeaseKeeper::Server {
 protected:
  struct Asked {
    LeaseName name;
    std::int64_t want = 0;
    std::string request_id;
  };

  void check(WaitingCheck check) override { central_.push_back(std::move(check)); }
  void lease(const LeaseName& name, std::string_view, std::int64_t want, std::string_view id) override {
    leases_.push_back({name, want, std::string(id)});
  }
  void give_back(std::string_view lease_id, std::int64_t units) override {
    returned_[std::string(lease_id)] += units;
  }

  // The answer is in answers_, as soon as there is one.
  void ask(std::string subject = "u1", std::optional<std::int64_t> cost = 1, std::string request_id = "") {
    const std::size_t number = answers_.size();
    answers_.emplace_back();
    keeper().check({.hash = hash_of(subject),
                    .subject = subject,
                    .cost = cost,
                    .request_id = std::move(request_id),
                    .done = [this, number](const Answer& answer) { answers_[number] = answer; }},
                   now_us_);
  }
  // Asks until the key is leased, and answers the request for units.
  void lease_key(std::int64_t granted = 100) {
    for (int i = 0; leases_.empty(); ++i) {
      ASSERT_LT(i, 10);
      ask();
    }
    grant(granted);
  }
  LeaseAnswer lease_of(std::int64_t granted) {
    return {.lease_id = "lease" + std::to_string(++leases_given_),
            .granted = granted,
            .expires_after_us = 10 * kSecondUs,
            .refresh_after_us = kSecondUs,
            .safe_capacity = 3};
  }
  void grant(std::int64_t granted) {
    ASSERT_FALSE(leases_.empty());
    const Asked asked = leases_.front();
    leases_.erase(leases_.begin());
    keeper().on_lease(asked.name, lease_of(granted), &terms_, now_us_);
  }
  const Answer& last() { return *answers_.back(); }
  std::size_t answered() const {
    return static_cast<std::size_t>(std::ranges::count_if(answers_, [](const auto& one) { return !!one; }));
  }
  LeaseKeeper& keeper() {
    if (!keeper_) keeper_ = std::make_unique<LeaseKeeper>(table_, *this, options_, [] { return 0.5; });
    return *keeper_;
  }

  LeaseKeeper::Options options_{.holder = "me-"};
  LeaseTerms terms_{.policy_version = "api#1", .check_cost = 1};
  LeaseTable table_;
  std::unique_ptr<LeaseKeeper> keeper_;
  std::vector<WaitingCheck> central_;
  std::vector<Asked> leases_;
  std::map<std::string, std::int64_t> returned_;
  std::vector<std::optional<Answer>> answers_;
  int leases_given_ = 0;
  std::int64_t now_us_ = kKeeperStart;
};

TEST_F(LeaseKeeperTest, ARareKeyAsksTheServerEachTime) {
  for (int i = 0; i < 10; ++i) {
    ask();
    now_us_ += kSecondUs;
  }
  EXPECT_EQ(central_.size(), 10u);
  EXPECT_TRUE(leases_.empty());
  EXPECT_EQ(keeper().keys(), 0u);
}

TEST_F(LeaseKeeperTest, ALeaseThatComesTooLateKeepsNobodyWaiting) {
  for (int i = 0; i < 3; ++i) ask();
  ASSERT_EQ(leases_.size(), 1u);
  const Asked asked = leases_.front();
  leases_.clear();
  LeaseAnswer late = lease_of(100);
  late.expires_after_us = 0;
  keeper().on_lease(asked.name, late, &terms_, now_us_);
  EXPECT_EQ(central_.size(), 3u) << "the check that waited asks the server";
  ASSERT_EQ(leases_.size(), 1u) << "and units are asked for again";
  grant(100);
  ask();
  EXPECT_TRUE(last().allowed);
}

TEST_F(LeaseKeeperTest, AFrequentKeyIsLeasedAndTheCheckThatFoundItWaitsForTheUnits) {
  ask();
  ask();
  ask();
  EXPECT_EQ(central_.size(), 2u);
  ASSERT_EQ(leases_.size(), 1u);
  EXPECT_GE(leases_[0].want, 2);
  EXPECT_EQ(answered(), 0u);
  grant(100);
  EXPECT_TRUE(last().allowed);
  EXPECT_TRUE(last().leased);
  EXPECT_EQ(last().remaining, 99);
  EXPECT_EQ(last().policy_version, "api#1");
  ask();
  EXPECT_EQ(last().remaining, 98);
  EXPECT_EQ(central_.size(), 2u);
}

TEST_F(LeaseKeeperTest, RequestIdsLooksAndHugeCostsGoToTheServer) {
  lease_key();
  central_.clear();
  ask("u1", 1, "id");
  ask("u1", 0);
  ask("u1", 1'000'000);
  EXPECT_EQ(central_.size(), 3u);
}

TEST_F(LeaseKeeperTest, ACheckWithoutACostSpendsWhatThePolicySays) {
  terms_.check_cost = 10;
  lease_key();
  ask("u1", std::nullopt);
  EXPECT_TRUE(last().leased);
  EXPECT_EQ(last().remaining, 100 - 1 - 10);
  terms_.check_cost = 0;
  central_.clear();
  ask("u1", std::nullopt);
  EXPECT_EQ(central_.size(), 1u) << "only the server knows what it costs";
}

TEST_F(LeaseKeeperTest, ACostThatTheGrantDoesNotCoverIsAskedOfTheServer) {
  lease_key(5);
  central_.clear();
  ask("u1", 50);
  ASSERT_EQ(central_.size(), 1u);
  EXPECT_EQ(central_[0].cost, 50);
}

TEST_F(LeaseKeeperTest, ADenialIsToldHereUntilTheServerHasRoom) {
  ask();
  ask();
  ask();
  keeper().on_lease(leases_[0].name, {.granted = 0, .retry_after_us = 2 * kSecondUs}, &terms_, now_us_);
  EXPECT_FALSE(last().allowed);
  EXPECT_EQ(last().reason, "limited");
  EXPECT_EQ(last().retry_after, std::chrono::milliseconds(2500)) << "spread over a second";
  central_.clear();
  leases_.clear();
  ask();
  EXPECT_FALSE(last().allowed);
  EXPECT_TRUE(central_.empty());
  now_us_ = keeper().next_due_us();
  keeper().run_due(now_us_);
  EXPECT_EQ(leases_.size(), 1u);
}

TEST_F(LeaseKeeperTest, ADeniedKeyThatNobodyUsesIsNotAskedForOnAndOn) {
  ask();
  ask();
  ask();
  int asked = 0;
  for (; !leases_.empty(); ++asked) {
    ASSERT_LT(asked, 3);
    const Asked lease = leases_.front();
    leases_.clear();
    keeper().on_lease(lease.name, {.granted = 0, .retry_after_us = 2 * kSecondUs}, &terms_, now_us_);
    now_us_ = keeper().next_due_us();
    keeper().run_due(now_us_);
  }
  EXPECT_EQ(asked, 2) << "once more for those who were denied";
  EXPECT_EQ(keeper().keys(), 0u) << "its place is free";
}

TEST_F(LeaseKeeperTest, AServerThatRefusesToLeaseIsAskedForEachCheck) {
  ask();
  ask();
  ask();
  central_.clear();
  keeper().on_refused(leases_[0].name, now_us_);
  EXPECT_EQ(central_.size(), 1u) << "the check that waited";
  ask();
  EXPECT_EQ(central_.size(), 2u);
  EXPECT_EQ(leases_.size(), 1u);
  now_us_ += LeaseKeeper::kRefusalUs;
  for (int i = 0; i < 5; ++i) ask();
  EXPECT_EQ(leases_.size(), 2u) << "it is tried again";
}

TEST_F(LeaseKeeperTest, WithoutTheServerUnitsThenSafeCapacityThenTheFailureRule) {
  options_.allows_unreachable = false;
  lease_key(2);  // one is spent by the check that waited
  ask();
  EXPECT_TRUE(last().allowed);
  ASSERT_EQ(leases_.size(), 1u);
  ask();
  keeper().on_no_answer(leases_[0].name, now_us_);
  EXPECT_TRUE(last().allowed);
  EXPECT_TRUE(last().degraded) << "a safe capacity";
  for (int i = 0; i < 2; ++i) {
    ask();
    EXPECT_TRUE(last().allowed);
  }
  ask();
  EXPECT_FALSE(last().allowed);
  EXPECT_TRUE(last().degraded);
  EXPECT_EQ(last().trouble, Trouble::kUnavailable);
}

TEST_F(LeaseKeeperTest, ARequestWithoutAnAnswerIsRepeatedAsItWas) {
  lease_key(1);
  ASSERT_EQ(leases_.size(), 1u);
  const Asked first = leases_[0];
  keeper().on_no_answer(first.name, now_us_);
  leases_.clear();
  keeper().on_reachable(now_us_);
  ASSERT_EQ(leases_.size(), 1u) << "at once, now that there is a server again";
  EXPECT_EQ(leases_[0].request_id, first.request_id);
  EXPECT_EQ(leases_[0].want, first.want);
  grant(5);
  for (int i = 0; i < 5; ++i) ask();
  ASSERT_EQ(leases_.size(), 1u);
  EXPECT_NE(leases_[0].request_id, first.request_id);
}

TEST_F(LeaseKeeperTest, AdviceLeasesAKeyAtOnce) {
  keeper().on_advice(hash_of("u1"), "u1", now_us_);
  ASSERT_EQ(leases_.size(), 1u);
  grant(10);
  ask();
  EXPECT_TRUE(last().leased);
  EXPECT_TRUE(central_.empty());
}

TEST_F(LeaseKeeperTest, AKeyThatIsNoLongerUsedAsksForNothing) {
  lease_key();
  int renewed = 0;
  while (keeper().next_due_us() != INT64_MAX) {
    now_us_ = keeper().next_due_us();
    keeper().run_due(now_us_);
    if (leases_.empty()) continue;
    ASSERT_LE(++renewed, 1) << "for the unit that was spent of the first";
    grant(3);
  }
}

// More keys than a set of the table has places.
std::vector<std::string> subjects_of_one_set() {
  std::vector<std::string> subjects;
  for (int i = 0; subjects.size() <= LeaseTable::kWays; ++i) {
    const std::string subject = "k" + std::to_string(i);
    if (LeaseTable::first_of(hash_of(subject)) == 0) subjects.push_back(subject);
  }
  return subjects;
}

// They are denied for an hour: their places are not theirs for so long.
TEST_F(LeaseKeeperTest, AFullSetMakesRoomByKeysThatAreDeniedAndThatNobodyUses) {
  const std::vector<std::string> subjects = subjects_of_one_set();
  const auto advise_last = [&] {
    keeper().on_advice(hash_of(subjects.back()), subjects.back(), now_us_);
    return !!table_.find(hash_of(subjects.back()));
  };
  for (std::size_t i = 0; i < LeaseTable::kWays; ++i) {
    keeper().on_advice(hash_of(subjects[i]), subjects[i], now_us_);
    const Asked asked = leases_.front();
    leases_.clear();
    keeper().on_lease(asked.name, {.granted = 0, .retry_after_us = 3'600 * kSecondUs}, &terms_, now_us_);
  }
  EXPECT_FALSE(advise_last()) << "they were asked for a moment ago";
  now_us_ += 2 * kSecondUs;
  for (std::size_t i = 1; i < LeaseTable::kWays; ++i) ask(subjects[i]);
  EXPECT_TRUE(advise_last());
  EXPECT_FALSE(table_.find(hash_of(subjects[0]))) << "nobody asks for it";
  EXPECT_TRUE(table_.find(hash_of(subjects[1])));
}

TEST_F(LeaseKeeperTest, AFullSetMakesRoomByKeysThatWereRefusedWhileTheyHeldUnits) {
  const std::vector<std::string> subjects = subjects_of_one_set();
  for (std::size_t i = 0; i < LeaseTable::kWays; ++i) {
    keeper().on_advice(hash_of(subjects[i]), subjects[i], now_us_);
    grant(10);
    for (int spent = 0; leases_.empty(); ++spent) {
      ASSERT_LT(spent, 10);
      ask(subjects[i]);
    }
    keeper().on_refused(leases_.front().name, now_us_);
    leases_.clear();
  }
  now_us_ += LeaseKeeper::kRefusalUs - kSecondUs;
  for (int i = 0; i < 20; ++i) keeper().run_due(now_us_ += kSecondUs / 4);
  keeper().on_advice(hash_of(subjects.back()), subjects.back(), now_us_);
  EXPECT_TRUE(table_.find(hash_of(subjects.back())));
}

TEST_F(LeaseKeeperTest, AFullSetMakesRoomByGivingUpIdleKeysOnly) {
  const std::vector<std::string> subjects = subjects_of_one_set();
  for (std::size_t i = 0; i < LeaseTable::kWays; ++i) {
    keeper().on_advice(hash_of(subjects[i]), subjects[i], now_us_);
    grant(10);
  }
  keeper().on_advice(hash_of(subjects.back()), subjects.back(), now_us_);
  EXPECT_FALSE(table_.find(hash_of(subjects.back()))) << "all others hold units";
  now_us_ += 11 * kSecondUs;
  keeper().run_due(now_us_);
  keeper().on_advice(hash_of(subjects.back()), subjects.back(), now_us_);
  EXPECT_TRUE(table_.find(hash_of(subjects.back())));
}

TEST_F(LeaseKeeperTest, AResetGivesUnitsUpWithoutReturningThem) {
  options_.returns_unused = true;
  lease_key();
  keeper().forget(hash_of("u1"), now_us_);
  EXPECT_TRUE(returned_.empty());
  central_.clear();
  ask();
  EXPECT_EQ(central_.size() + leases_.size(), 1u);
}

TEST_F(LeaseKeeperTest, ClosingReturnsWhatIsLeftIfThatWasAskedForAlsoOfAnAnswerThatIsStillToCome) {
  options_.returns_unused = true;
  lease_key();
  keeper().on_advice(hash_of("u2"), "u2", now_us_);
  ask("u2");
  keeper().close(now_us_);
  EXPECT_EQ(returned_, (std::map<std::string, std::int64_t>{{"lease1", 99}}));
  EXPECT_EQ(last().trouble, Trouble::kClosed);
  grant(20);
  EXPECT_EQ(returned_["lease2"], 20);
  ask();
  EXPECT_EQ(last().trouble, Trouble::kClosed);
}

TEST_F(LeaseKeeperTest, AfterClosingNobodyIsToldThatTheServerIsGoneOrDenies) {
  lease_key(1);
  keeper().on_no_answer(leases_[0].name, now_us_);
  keeper().close(now_us_);
  EXPECT_EQ(table_.find(hash_of("u1")).bucket->why_empty(now_us_), LeaseBucket::Empty::kAsking);
}

TEST_F(LeaseKeeperTest, ClosingKeepsUnitsOtherwise) {
  lease_key();
  keeper().close(now_us_);
  EXPECT_TRUE(returned_.empty());
}

TEST_F(LeaseKeeperTest, WithoutLeasesEveryCheckIsAskedOfTheServer) {
  options_.leases = false;
  for (int i = 0; i < 10; ++i) ask();
  keeper().on_advice(hash_of("u1"), "u1", now_us_);
  EXPECT_EQ(central_.size(), 10u);
  EXPECT_TRUE(leases_.empty());
}

}  // namespace
}  // namespace sluice

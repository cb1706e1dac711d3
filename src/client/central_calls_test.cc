#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <queue>
#include <random>
#include <vector>

#include "base/testing/seed.h"
#include "client/lease_answers.h"
#include "client/lease_keeper.h"

// How many calls the checks of many keys cost, in simulated time: the machines of the library with a server
// that answers after a millisecond and has room for all.
namespace sluice {
namespace {

constexpr std::int64_t kRoundTripUs = 1'000;

class CentralCalls : public LeaseKeeper::Server {
 public:
  explicit CentralCalls(SizeRule rule, std::uint64_t seed)
      : random_(seed), keeper_(table_, *this, {.rule = rule, .holder = "me-"}, [this] {
          return std::uniform_real_distribution<double>(0, 1)(random_);
        }) {}

  // One check of this key, now.
  void check(std::uint32_t key) {
    ++checks;
    const KeyHash hash{(key + 1) * 0x9e3779b97f4a7c15u, (key + 1) * 0xbf58476d1ce4e5b9u};
    if (const auto found = table_.find(hash)) {
      Answer answer;
      const DecidedHere here = decide_here(table_, found, 1, now_us_, true, answer);
      if (here.is_decided && here.wakes_owner) keeper_.refill(found.place, now_us_);
      if (here.is_decided) return;
    }
    keeper_.check({.hash = hash, .subject = "k", .cost = 1, .request_id = {}, .done = [](const Answer&) {}},
                  now_us_);
  }

  void move_to(std::int64_t now_us) {
    for (;;) {
      const std::int64_t answer_us = answers_.empty() ? INT64_MAX : answers_.front().at_us;
      const std::int64_t due_us = std::min(answer_us, keeper_.next_due_us());
      if (due_us > now_us) break;
      now_us_ = std::max(now_us_, due_us);
      if (answer_us == due_us) {
        const Coming coming = answers_.front();
        answers_.pop();
        const LeaseAnswer lease{.lease_id = "l",
                                .granted = coming.want,
                                .expires_after_us = 10 * kSecondUs,
                                .refresh_after_us = kSecondUs,
                                .safe_capacity = 0};
        keeper_.on_lease(coming.name, lease, &terms_, now_us_);
      } else {
        keeper_.run_due(now_us_);
      }
    }
    now_us_ = now_us;
  }

  std::int64_t checks = 0;
  std::int64_t asked_each = 0, leases = 0;
  double calls_per_check() const {
    return static_cast<double>(asked_each + leases) / static_cast<double>(checks);
  }
  std::int64_t now_us() const { return now_us_; }
  std::mt19937_64& random() { return random_; }

 private:
  struct Coming {
    std::int64_t at_us = 0;
    LeaseName name;
    std::int64_t want = 0;
  };
  void check(WaitingCheck) override { ++asked_each; }
  void lease(const LeaseName& name, std::string_view, std::int64_t want, std::string_view) override {
    ++leases;
    answers_.push({now_us_ + kRoundTripUs, name, want});
  }
  void give_back(std::string_view, std::int64_t) override {}

  std::mt19937_64 random_;
  std::int64_t now_us_ = 1'000 * kSecondUs;
  const LeaseTerms terms_{.check_cost = 1};
  LeaseTable table_;
  LeaseKeeper keeper_;
  std::queue<Coming> answers_;
};

TEST(CentralCallsTest, AKeyAtTenThousandPerSecond) {
  CentralCalls calls(SizeRule::kPredicted, test_seed());
  for (int i = 0; i < 100'000; ++i) {
    calls.move_to(calls.now_us() + 100);
    calls.check(1);
  }
  std::printf("10,000/s on one key: %.5f calls per check\n", calls.calls_per_check());
  EXPECT_LE(calls.calls_per_check(), 1.0 / 100);
}

// Zipf 1.1 over a million keys at 100,000 checks a second, from a cold start.
TEST(CentralCallsTest, ManyKeysByZipfsLaw) {
  constexpr std::uint32_t kKeys = 1'000'000;
  std::vector<double> sums(kKeys);
  double sum = 0;
  for (std::uint32_t i = 0; i < kKeys; ++i) sums[i] = sum += std::pow(i + 1, -1.1);
  const std::uint64_t seed = test_seed();
  SCOPED_TRACE(seed);
  CentralCalls calls(SizeRule::kPredicted, seed);
  std::uniform_real_distribution<double> uniform(0, sum);
  for (int i = 0; i < 500'000; ++i) {
    calls.move_to(calls.now_us() + 10);
    const auto key = std::ranges::lower_bound(sums, uniform(calls.random())) - sums.begin();
    calls.check(static_cast<std::uint32_t>(key));
  }
  std::printf("Zipf 1.1, 1 M keys, 100,000/s: %.4f calls per check (%.4f checks, %.4f leases)\n",
              calls.calls_per_check(),
              static_cast<double>(calls.asked_each) / static_cast<double>(calls.checks),
              static_cast<double>(calls.leases) / static_cast<double>(calls.checks));
  EXPECT_LE(calls.calls_per_check(), 1.0 / 3);
}

}  // namespace
}  // namespace sluice

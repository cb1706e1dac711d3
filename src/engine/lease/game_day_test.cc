#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <map>
#include <memory>
#include <random>
#include <vector>

#include "base/testing/seed.h"
#include "client/leased_key.h"
#include "engine/testing/engine_fixture.h"

// Game day: a tenant that is far larger than the others, a whale, doubles its load. It comes through fifty
// gateways that lease; the other tenants send each check. All share one cap. In simulated time.
namespace sluice::testing {
namespace {

constexpr std::int64_t kStepUs = 2'000;
constexpr std::size_t kGateways = 50, kOthers = 10;
constexpr std::int64_t kTenantRate = 2'000, kCapRate = 4'000;  // a second
constexpr double kWhaleRate = 1'800, kOtherRate = 160, kOtherLimit = 120;

class GameDayTest : public EngineFixture {
 protected:
  struct Gateway {
    explicit Gateway(std::mt19937_64& random)
        : key([&random] { return std::uniform_real_distribution<double>(0, 1)(random); }) {}
    LeasedKey key;
    double owed = 0;
    std::int64_t asked = 0, spent = 0;
    std::int64_t want = 0;  // asked for with the next step
  };
  struct Other {
    double owed = 0;
    std::int64_t asked = 0, denied = 0;
  };

  void SetUp() override {
    Policy small = make_policy(
        "others",
        {make_limit({.name = "own", .per = {"tenant"}, .rate = {std::int64_t(kOtherLimit), kSecondUs}})});
    Policy whale = make_policy(
        "whale", {make_limit({.name = "own", .per = {"tenant"}, .rate = {kTenantRate, kSecondUs}})});
    whale.tenant = "whale";
    Policy cap =
        make_policy("cap", {make_limit({.name = "all", .per = {"resource"}, .rate = {kCapRate, kSecondUs}})});
    cap.always = true;
    publish({small, whale, cap});
    for (std::size_t i = 0; i < kGateways; ++i) gateways.push_back(std::make_unique<Gateway>(random));
  }

  void run_seconds(int seconds, double whale_rate) {
    for (std::int64_t i = 0; i < seconds * kSecondUs / kStepUs; ++i) {
      clock.advance(kStepUs);
      std::ranges::shuffle(gateways, random);
      for (auto& gateway : gateways) serve(*gateway, whale_rate / kGateways);
      for (std::size_t tenant = 0; tenant < kOthers; ++tenant) serve_other(tenant);
      ASSERT_LE(spent(), leased);
    }
  }

  std::int64_t spent() const {
    std::int64_t sum = 0;
    for (const auto& gateway : gateways) sum += gateway->spent;
    return sum;
  }
  // Of the others, since the last call.
  double denial_rate() {
    std::int64_t asked = 0, denied = 0;
    for (Other& other : others) {
      asked += std::exchange(other.asked, 0);
      denied += std::exchange(other.denied, 0);
    }
    return static_cast<double>(denied) / static_cast<double>(asked);
  }
  // What the gateway that got the least got of what it asked for, or of an equal part, since the last call.
  double least_share(int seconds) {
    double least = 1;
    for (auto& gateway : gateways) {
      const double fair = std::min(static_cast<double>(std::exchange(gateway->asked, 0)),
                                   static_cast<double>(kTenantRate * seconds) / kGateways);
      const std::int64_t before = std::exchange(counted[gateway.get()], gateway->spent);
      least = std::min(least, static_cast<double>(gateway->spent - before) / fair);
    }
    return least;
  }

  const std::uint64_t seed = test_seed();
  ::testing::ScopedTrace trace{__FILE__, __LINE__, std::to_string(seed)};
  std::mt19937_64 random{seed};
  std::vector<std::unique_ptr<Gateway>> gateways;
  std::map<const Gateway*, std::int64_t> counted;  // what they had spent at the last least_share()
  std::array<Other, kOthers> others;
  std::int64_t leased = 0;
  std::uint64_t requests = 0;

 private:
  void serve(Gateway& gateway, double per_second) {
    const std::int64_t now_us = clock.now_us();
    if (const std::int64_t want = std::exchange(gateway.want, 0)) lease(gateway, want);
    bool wake = now_us >= gateway.key.next_due_us();
    for (gateway.owed += per_second * kStepUs / kSecondUs; gateway.owed >= 1; gateway.owed -= 1) {
      ++gateway.asked;
      const LeaseBucket::Spend spend = gateway.key.spend(1, now_us);
      gateway.spent += spend.spent ? 1 : 0;
      wake |= spend.wakes_owner;
    }
    if (wake) gateway.want = gateway.key.want(now_us);
  }

  void lease(Gateway& gateway, std::int64_t want) {
    const auto lease = engine.lease(
        {.tenant = "whale", .resource = "/r", .cost = want, .request_id = std::to_string(++requests)},
        [] { return [](const Result<Lease>&) {}; });
    ASSERT_TRUE(lease && *lease) << (*lease).error().message;
    leased += (*lease)->granted;
    gateway.key.on_answer({.lease_id = (*lease)->id,
                           .granted = (*lease)->granted,
                           .expires_after_us = (*lease)->expires_after_ms * 1'000,
                           .refresh_after_us = (*lease)->refresh_after_ms * 1'000,
                           .safe_capacity = (*lease)->safe_capacity,
                           .retry_after_us = (*lease)->retry_after_ms * 1'000},
                          clock.now_us());
    gateway.want = gateway.key.want(clock.now_us());
  }

  void serve_other(std::size_t tenant) {
    Other& other = others[tenant];
    const std::string name = "t" + std::to_string(tenant);
    for (other.owed += kOtherRate * kStepUs / kSecondUs; other.owed >= 1; other.owed -= 1) {
      ++other.asked;
      other.denied += check({.tenant = name, .resource = "/r"}).allowed ? 0 : 1;
    }
  }
};

TEST_F(GameDayTest, AWhaleThatDoublesItsLoadStarvesNobody) {
  const std::int64_t began_us = clock.now_us();
  run_seconds(10, kWhaleRate);
  denial_rate();
  least_share(10);
  run_seconds(5, kWhaleRate);
  const double before = denial_rate();
  EXPECT_NEAR(before, 1 - kOtherLimit / kOtherRate, 0.02) << "the others exceed limits of their own";
  EXPECT_GE(least_share(5), 0.5);
  run_seconds(5, 2 * kWhaleRate);  // the time to converge
  denial_rate();
  EXPECT_GE(least_share(5), 0.5) << "even then";
  for (int round = 0; round < 3; ++round) {
    run_seconds(5, 2 * kWhaleRate);
    if (HasFatalFailure()) return;
    EXPECT_NEAR(denial_rate(), before, 0.05 * before) << round;
    EXPECT_GE(least_share(5), 0.5) << round;
  }
  const std::int64_t elapsed_us = clock.now_us() - began_us;
  EXPECT_LE(leased, kTenantRate + kTenantRate * elapsed_us / kSecondUs) << "a burst, and the rate";
  EXPECT_GE(spent(), leased * 9 / 10) << "what was leased is used";
}

}  // namespace
}  // namespace sluice::testing

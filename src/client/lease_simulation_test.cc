#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <random>
#include <vector>

#include "algorithm/step.h"
#include "base/testing/bound_watch.h"
#include "base/testing/seed.h"
#include "client/leased_key.h"

// Many holders of one key and a server, in simulated time: messages are late or lost, the server goes away,
// processes stop for a while. What the holders have spent is compared with what the server has charged.
namespace sluice {
namespace {

constexpr std::int64_t kSimulationStart = 1'000 * kSecondUs;
constexpr std::int64_t kStepUs = 1'000;

// One limit that gives out leases.
class Server {
 public:
  explicit Server(std::int64_t per_second)
      : params_(*make_limit_params(Algorithm::kGcra, {per_second, kSecondUs}, per_second)) {}

  LeaseAnswer lease(std::int64_t want, std::int64_t now_us, std::int64_t holders) {
    const Stepped look = step(params_, state_, now_us, 0);
    const std::int64_t units = std::min(want, look.outcome.remaining);
    if (units == 0) return {.retry_after_us = step(params_, state_, now_us, 1).outcome.retry_after_us};
    state_ = step(params_, state_, now_us, units).state;
    charged += units;
    ++calls;
    return {.lease_id = "lease",
            .granted = units,
            .expires_after_us = kLifeUs,
            .refresh_after_us = kSecondUs / 2,
            .safe_capacity = params_.capacity * 60 / holders};
  }

  static constexpr std::int64_t kLifeUs = 5 * kSecondUs;
  std::int64_t charged = 0;
  std::int64_t calls = 0;

 private:
  LimitParams params_;
  State state_;
};

struct Weather {
  std::int64_t delay_most_us = 2'000;  // of a message, one way
  double lost = 0;                     // of the answers
};

class Simulation {
 public:
  Simulation(std::uint64_t seed, std::int64_t limit_per_second, std::size_t holders, Weather weather)
      : random_(seed), server_(limit_per_second), weather_(weather) {
    for (std::size_t i = 0; i < holders; ++i) {
      holders_.push_back(std::make_unique<Holder>(random_));
      holders_by_turn_.push_back(i);
    }
  }

  // Runs for a second: each holder gets `per_second` requests.
  void run(const std::vector<double>& per_second, bool is_server_there = true) {
    for (int i = 0; i < 1'000; ++i) {
      now_us_ += kStepUs;
      for (const std::size_t h : holders_by_turn_) {
        Holder& holder = *holders_[h];
        holder.owed += per_second[h] * kStepUs / kSecondUs;
        bool wake = now_us_ >= holder.key.next_due_us();
        for (; holder.owed >= 1; holder.owed -= 1) {
          ++holder.requests;
          const auto [spent, wakes, is_safe] = holder.key.spend(1, now_us_);
          holder.spent += spent ? 1 : 0;
          wake |= wakes;
        }
        deliver(holder, is_server_there);
        if (!wake) continue;
        if (const std::int64_t want = holder.key.want(now_us_)) ask(holder, want, is_server_there);
      }
      ASSERT_LE(spent(), server_.charged + safe_spent());
      std::ranges::shuffle(holders_by_turn_, random_);
    }
  }

  std::int64_t spent() const {
    std::int64_t sum = 0;
    for (const auto& holder : holders_) sum += holder->spent;
    return sum;
  }
  std::int64_t requests() const {
    std::int64_t sum = 0;
    for (const auto& holder : holders_) sum += holder->requests;
    return sum;
  }
  std::int64_t spent_by(std::size_t holder) const { return holders_[holder]->spent; }
  std::int64_t safe_spent() {
    std::int64_t sum = 0;
    for (const auto& holder : holders_) {
      holder->key.observe(now_us_);
      sum += holder->key.safe_spent();
    }
    return sum;
  }
  const Server& server() const { return server_; }

 private:
  struct Holder {
    explicit Holder(std::mt19937_64& random)
        : key([&random] { return std::uniform_real_distribution<double>(0, 1)(random); }) {}
    LeasedKey key;
    double owed = 0;
    std::int64_t requests = 0;
    std::int64_t spent = 0;
    std::int64_t answer_at_us = 0;  // 0: none is to come
    LeaseAnswer answer;
    bool is_lost = false;
  };

  // The server decides halfway; an answer that is lost has charged all the same.
  void ask(Holder& holder, std::int64_t want, bool is_server_there) {
    const std::int64_t delay_us =
        std::uniform_int_distribution<std::int64_t>(0, 2 * weather_.delay_most_us)(random_);
    holder.is_lost = !is_server_there || std::bernoulli_distribution(weather_.lost)(random_);
    holder.answer_at_us = now_us_ + (holder.is_lost ? kSecondUs / 5 : delay_us);
    if (is_server_there)
      holder.answer = server_.lease(want, now_us_, static_cast<std::int64_t>(holders_.size()));
  }
  void deliver(Holder& holder, bool is_server_there) {
    if (holder.answer_at_us == 0 || now_us_ < holder.answer_at_us) return;
    holder.answer_at_us = 0;
    if (holder.is_lost)
      holder.key.on_unreachable(now_us_);
    else
      holder.key.on_answer(holder.answer, now_us_);
    if (const std::int64_t want = holder.key.want(now_us_)) ask(holder, want, is_server_there);
  }

  std::mt19937_64 random_;
  Server server_;
  Weather weather_;
  std::vector<std::unique_ptr<Holder>> holders_;
  std::int64_t now_us_ = kSimulationStart;
  std::vector<std::size_t> holders_by_turn_;
};

TEST(LeaseSimulationTest, AKeyAtTenThousandPerSecondCostsAHundredthOfTheCalls) {
  Simulation simulation(test_seed(), 20'000, 1, {});
  for (int second = 0; second < 10; ++second) simulation.run({10'000});
  EXPECT_EQ(simulation.requests(), 100'000);
  EXPECT_GE(simulation.spent(), 99'000);
  EXPECT_LE(simulation.server().calls, 1'000);
  RecordProperty("calls", static_cast<int>(simulation.server().calls));
}

TEST(LeaseSimulationTest, FiftyHoldersShareALimitThatIsTooSmallAndNobodyStarves) {
  const std::uint64_t seed = test_seed();
  SCOPED_TRACE(seed);
  Simulation simulation(seed, 10'000, 50, {});
  const std::vector<double> demand(50, 400);  // twice the limit
  for (int second = 0; second < 5; ++second) simulation.run(demand);
  for (int round = 0; round < 4; ++round) {
    std::vector<std::int64_t> before(50);
    for (std::size_t h = 0; h < 50; ++h) before[h] = simulation.spent_by(h);
    const std::int64_t spent_before = simulation.spent();
    for (int second = 0; second < 5; ++second) simulation.run(demand);
    for (std::size_t h = 0; h < 50; ++h)
      EXPECT_GE(simulation.spent_by(h) - before[h], 10'000 * 5 / 50 / 2) << "holder " << h;
    EXPECT_GE(simulation.spent() - spent_before, 45'000) << "what is there is used";
  }
}

// The bound: never more than the server has charged, and the safe capacities of those who cannot reach it.
TEST(LeaseSimulationTest, NothingIsSpentThatWasNotCharged) {
  const std::uint64_t seed = test_seed();
  SCOPED_TRACE(seed);
  std::mt19937_64 random(seed);
  for (int run = 0; run < 20; ++run) {
    const auto number = [&](std::int64_t least, std::int64_t most) {
      return std::uniform_int_distribution<std::int64_t>(least, most)(random);
    };
    const auto holders = static_cast<std::size_t>(number(1, 20));
    const std::int64_t limit = number(1, 5'000);
    const double lost = static_cast<double>(number(0, 2)) * 0.1;
    Simulation simulation(random(), limit, holders, {.delay_most_us = number(0, 100'000), .lost = lost});
    bool was_there = true;
    for (int second = 0; second < 20; ++second) {
      std::vector<double> demand;
      for (std::size_t h = 0; h < holders; ++h)
        demand.push_back(static_cast<double>(number(0, 3 * limit)) / static_cast<double>(holders));
      const bool is_there = number(0, 9) > 0;
      was_there &= is_there;
      simulation.run(demand, is_there);
      if (HasFatalFailure()) return;
    }
    if (lost == 0 && was_there) EXPECT_EQ(simulation.safe_spent(), 0);
  }
}

TEST(LeaseSimulationTest, WithoutTheServerTheHoldersSpendAMinuteOfTheLimitAtMost) {
  const std::uint64_t seed = test_seed();
  SCOPED_TRACE(seed);
  Simulation simulation(seed, 1'000, 10, {});
  const std::vector<double> demand(10, 200);  // twice the limit
  for (int second = 0; second < 10; ++second) simulation.run(demand);
  EXPECT_EQ(simulation.safe_spent(), 0);
  for (int second = 0; second < 90; ++second) simulation.run(demand, false);
  EXPECT_GT(simulation.safe_spent(), 50'000);
  BoundWatch("leases, safe capacities of ten holders in a minute without the server", seed)
      .see(simulation.safe_spent(), 60'000);
}

}  // namespace
}  // namespace sluice

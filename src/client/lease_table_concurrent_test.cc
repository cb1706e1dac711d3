#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <thread>
#include <vector>

#include "client/lease_answers.h"
#include "client/lease_table.h"

namespace sluice {
namespace {

constexpr std::size_t kKeys = 3;

// All in one set, so that they take each other's places.
KeyHash hash_of(std::size_t key) { return {(key + 1) * LeaseTable::kSets, key + 1}; }

// Threads spend on a few keys while the owner removes them and gives their places to others. Each unit that
// was put in is spent once by a thread that asked for that very key, or taken back.
TEST(LeaseTableConcurrent, UnitsAreSpentForTheKeyTheyWereGrantedTo) {
  constexpr int kRounds = 600, kThreads = 3;
  constexpr std::int64_t kUnits = 20;
  LeaseTable table;
  const std::array<LeaseTerms, kKeys> terms = {LeaseTerms{.limit = 0, .check_cost = 1},
                                               LeaseTerms{.limit = 1, .check_cost = 1},
                                               LeaseTerms{.limit = 2, .check_cost = 1}};
  std::array<std::atomic<std::int64_t>, kKeys> spent{};
  std::atomic<bool> done = false;
  const auto spend = [&](std::size_t first) {
    for (std::size_t key = first; !done; key = (key + 1) % kKeys) {
      const auto found = table.find(hash_of(key));
      if (!found) continue;
      Answer answer;
      if (!decide_here(table, found, {}, 1, true, answer).is_decided) continue;
      if (answer.allowed) ++spent[key];
    }
  };
  std::vector<std::thread> threads;
  for (std::size_t i = 0; i < kThreads; ++i) threads.emplace_back(spend, i);

  std::array<std::int64_t, kKeys> granted{}, taken_back{};
  for (int round = 0; round < kRounds; ++round) {
    const std::size_t key = static_cast<std::size_t>(round) % kKeys;
    const auto place = table.insert(hash_of(key));
    ASSERT_TRUE(place);
    table.set_terms(*place, &terms[key]);
    const std::size_t part = table.bucket(*place).add(kUnits, 1'000);
    granted[key] += kUnits;
    while (round % 4 == 0 && table.bucket(*place).left() > 0) std::this_thread::yield();
    taken_back[key] += table.bucket(*place).take_back(part);
    table.erase(*place);
  }
  done = true;
  for (std::thread& thread : threads) thread.join();
  for (std::size_t key = 0; key < kKeys; ++key) EXPECT_EQ(spent[key] + taken_back[key], granted[key]);
}

}  // namespace
}  // namespace sluice

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "base/testing/seed.h"
#include "store/memory/memory_counters.h"
#include "store/redis/testing/redis_store_fixture.h"
#include "store/testing/naive_counters.h"
#include "store/testing/vector_life.h"

namespace sluice {
namespace {

// What a random trace contains beside charges. Not everything at once: a log in memory notices even at a look
// that the clock has stepped back or the limit has changed; in Redis looks never write. Merged: many calls at
// once on few keys, so that most of them meet in a batch, with equal or different charges.
enum class Trace { kWithLooks, kWithStepsBack, kWithChanges, kWithRefunds, kMerged };

// The same checks at the same times to two stores, several in flight to Redis at once: to Redis and to memory
// or, with refunds, which memory never needs, to the slow and obvious store.
class RedisDifferentialTest : public RedisStoreFixture, public testing::WithParamInterface<Trace> {
 protected:
  static constexpr std::uint64_t kAlgorithms = 6, kKeys = 60;

  std::uint64_t below(std::uint64_t n) { return random_() % n; }

  // Redis expires keys by its own clock, which continues while the test's clock stands still or steps back.
  // Periods are long, so that a busy machine does not make Redis forget too early.
  static constexpr std::int64_t kSlower = 1000;

  ParamsId random_limit(std::uint64_t algorithm) {
    const auto count = static_cast<std::int64_t>(1 + below(30));
    return limit(static_cast<Algorithm>(algorithm), count, (below(2) ? 1 : 7) * kSecond * kSlower,
                 below(3) == 0 ? count : 0);
  }

  void connect(std::uint64_t seed, std::string script) {
    random_.seed(seed);
    server_.start();
    RedisBackendOptions with = options(server_);
    with.connection.script = std::move(script);
    with.decide_by = &time_;
    // A denial that the server does not see cannot record the time, so a later step back would go unnoticed.
    if (GetParam() == Trace::kWithStepsBack) with.remember_denials_us = 0;
    with.batches_in_flight = 1;
    make_connected_store(with);
    for (std::uint64_t k = 0; k < kKeys; ++k) limits_.push_back({random_limit(k % kAlgorithms), 0});
  }

  // Gives a limit other numbers, perhaps of another algorithm, or its previous ones: a counter that is not
  // used for a while must still know under which of the two it was written.
  void change_limit() {
    auto& [now, before] = limits_[below(kKeys)];
    if (before == 0) before = random_limit(below(kAlgorithms));
    std::swap(now, before);
  }

  void pass_time() {
    time_.advance(static_cast<std::int64_t>(below(100) == 0 ? below(30'000'000) : below(50'000)) * kSlower);
    if (GetParam() == Trace::kWithStepsBack && below(200) == 0)
      time_.advance(-static_cast<std::int64_t>(below(2'000'000)) * kSlower);
  }

  struct Granted {
    std::vector<Charge> charges;
    std::vector<ChargeResult> results;
    std::int64_t now_us;
    std::vector<int> rows;  // in the lives of the counters
  };

  // One busy key or several; most costs are equal; some count denials, some have a request id, some use the
  // key's other numbers.
  std::unique_ptr<TestCall> merged_call() {
    if (below(300) == 0) hot_key_ = below(kKeys);
    if (below(30) == 0) change_limit();
    std::vector<Charge> charges;
    const std::uint64_t first = below(10) == 0 ? below(kKeys) : hot_key_ + below(2);
    for (std::uint64_t i = 0, size = below(3) == 0 ? 1 + below(3) : 1; i < size; ++i) {
      const std::uint64_t k = (first + i) % kKeys;
      charges.push_back({.key = {k + 1, k},
                         .params = limits_[k].first,
                         .cost = static_cast<std::int64_t>(below(4) == 0 ? below(6) : 1),
                         .on_denial = below(6) == 0 ? OnDenial::kCharge : OnDenial::kFree});
    }
    auto call = std::make_unique<TestCall>(std::move(charges));
    if (below(12) == 0)
      call->dedupe = Dedupe{.id = {1000, below(200)}, .fingerprint = below(5) == 0, .ttl_us = 3600 * kSecond};
    return call;
  }

  std::unique_ptr<TestCall> random_call() {
    if (GetParam() == Trace::kMerged) return merged_call();
    if (GetParam() == Trace::kWithChanges && below(10) == 0) change_limit();
    if (!granted_.empty() && below(4) == 0) return random_refund();
    const bool looks = GetParam() == Trace::kWithLooks || GetParam() == Trace::kWithRefunds;
    std::vector<Charge> charges;
    const std::uint64_t first = below(kKeys), stride = 1 + below(6);
    for (std::uint64_t i = 0, size = below(2) ? 1 : 1 + below(5); i < size; ++i) {
      const std::uint64_t k = (first + i * stride) % kKeys;
      charges.push_back({.key = {k + 1, k},
                         .params = limits_[k].first,
                         .cost = static_cast<std::int64_t>(below(10) + (looks ? 0 : 1)),
                         .on_denial = below(4) == 0 ? OnDenial::kCharge : OnDenial::kFree});
    }
    auto call = std::make_unique<TestCall>(std::move(charges));
    if (GetParam() == Trace::kWithRefunds && below(10) == 0) call->refund_of_us = Grant::kAnyTime;
    return call;
  }

  std::unique_ptr<TestCall> random_refund() {
    const auto chosen = granted_.begin() + static_cast<std::ptrdiff_t>(below(granted_.size()));
    auto call = std::make_unique<TestCall>(chosen->charges);
    std::ranges::copy(chosen->results, call->results.begin());
    call->refund_of_us = chosen->now_us;
    refunds_.emplace(call.get(), std::move(*chosen));
    granted_.erase(chosen);
    return call;
  }

  // Starts some calls at once; returns them in the order in which they were decided.
  std::vector<std::unique_ptr<TestCall>> decide_some() {
    std::vector<std::unique_ptr<TestCall>> calls, decided;
    const std::uint64_t most = GetParam() == Trace::kMerged ? 60 : 12;
    for (std::uint64_t n = 1 + below(most); n > 0; --n) calls.push_back(random_call());
    for (auto& call : calls) {
      call->when_done = [&] { decided.push_back(std::move(call)); };
      if (TestCall* const started = call.get(); store_->start(*started)) started->on_done();
    }
    EXPECT_TRUE(run_until([&] { return decided.size() == calls.size(); }));
    return decided;
  }

  // The other store's answer. The lives of the counters are recorded.
  Verdict expected_of(const TestCall& call, std::vector<ChargeResult>& expected) {
    const auto refund = refunds_.find(&call);
    if (refund != refunds_.end()) {
      const Granted& of = refund->second;
      expected = of.results;
      std::int64_t ignored_us = 0;
      naive_.refund(call.charges, expected, of.now_us, ignored_us);
      for (std::size_t i = 0; i < expected.size(); ++i) {
        const Charge& charge = call.charges[i];
        VectorLife& life = lives_[charge.key];
        if (charge.cost > 0 && charge.on_denial == OnDenial::kFree)
          life.refund(params_[charge.params], of.rows[i], time_.now_us());
        else
          life.charge(params_[charge.params], {.cost = 0}, true, true, time_.now_us());
      }
      refunds_.erase(refund);
      return Verdict::kAllowed;
    }
    std::int64_t now_us = 0;
    if (call.refund_of_us == Grant::kAnyTime) {
      for (const Charge& charge : call.charges)
        lives_[charge.key].give_back(params_[charge.params], charge.cost, time_.now_us());
      return naive_.refund(call.charges, expected, Grant::kAnyTime, now_us);
    }
    Counters& other = GetParam() == Trace::kWithRefunds ? static_cast<Counters&>(naive_) : memory_;
    const Verdict verdict = other.apply(call.charges, expected, now_us);
    std::vector<int> rows;
    for (std::size_t i = 0; i < expected.size(); ++i)
      rows.push_back(lives_[call.charges[i].key].charge(params_[call.charges[i].params], call.charges[i],
                                                        verdict == Verdict::kAllowed,
                                                        expected[i].outcome.allowed, now_us));
    if (GetParam() == Trace::kWithRefunds && verdict == Verdict::kAllowed && below(3) == 0)
      granted_.push_back({{call.charges.begin(), call.charges.end()}, expected, now_us, std::move(rows)});
    return verdict;
  }

  struct KnownId {
    std::uint64_t fingerprint = 0;
    Verdict verdict = Verdict::kNoAnswer;
    std::int64_t now_us = 0;
    std::vector<ChargeResult> results;
  };
  struct Difference {
    std::string what;
    std::string life;  // for tests/vectors
    ChargeResult expected;
  };

  // The first answer to a request id is repeated, unless the request differs.
  std::optional<Difference> difference_of_known(const TestCall& call, const KnownId& known) {
    const bool is_same = known.fingerprint == call.dedupe->fingerprint;
    if (call.replayed != is_same || call.conflict != !is_same)
      return Difference{"a request id that came before, and is not said to", "", {}};
    if (!is_same) return std::nullopt;
    if (call.verdict != known.verdict || call.now_us != known.now_us)
      return Difference{"another verdict, or time, of the same request id", "", {}};
    const std::size_t told = call.charges.size() == known.results.size() ? known.results.size() : 0;
    if (call.results_known != told) return Difference{"results of other charges", "", {}};
    for (std::size_t i = 0; i < told; ++i)
      if (shown(call.results[i]) != shown(known.results[i]))
        return Difference{
            "Redis repeats " + shown(call.results[i]) + ", said " + shown(known.results[i]), "", {}};
    return std::nullopt;
  }

  std::optional<Difference> difference(const TestCall& call) {
    if (call.dedupe) {
      const auto known = known_ids_.find(call.dedupe->id);
      if (known != known_ids_.end()) return difference_of_known(call, known->second);
      if (call.replayed || call.conflict) return Difference{"a new request id is known", "", {}};
      // A decision that has charged nothing is decided anew.
      if (std::ranges::any_of(call.charges, [&](const Charge& each) {
            return each.cost > 0 && (call.allowed() || each.on_denial == OnDenial::kCharge);
          }))
        known_ids_[call.dedupe->id] = {call.dedupe->fingerprint, call.verdict, call.now_us,
                                       std::vector(call.results.begin(), call.results.end())};
    }
    std::vector<ChargeResult> expected(call.charges.size());
    const Verdict verdict = expected_of(call, expected);
    for (std::size_t i = 0; i < expected.size(); ++i) {
      const LimitParams& params = params_[call.charges[i].params];
      // Whether it warned before: both may forget that with a counter that is full again, but not at the same
      // moment.
      const std::int64_t used_percents = (params.capacity - expected[i].outcome.remaining) * 100;
      if (used_percents >= 70 * params.capacity && used_percents <= 80 * params.capacity)
        expected[i].pressure = call.results[i].pressure;
      if (shown(call.results[i]) != shown(expected[i]))
        return Difference{"Redis says " + shown(call.results[i]) + ", expected " + shown(expected[i]),
                          lives_[call.charges[i].key].text(), expected[i]};
    }
    if (call.verdict == verdict && call.now_us == time_.now_us()) return std::nullopt;
    // Redis admitted what had no room, or the reverse: show the counter that had no room.
    const auto denies = [](const ChargeResult& result) { return !result.outcome.allowed; };
    const auto chosen = std::ranges::find_if(expected, denies);
    const auto i = chosen == expected.end() ? 0 : static_cast<std::size_t>(chosen - expected.begin());
    return Difference{"another verdict, or time", lives_[call.charges[i].key].text(), expected[i]};
  }

  // Runs up to the first difference.
  std::optional<Difference> run_trace(int rounds) {
    for (int round = 0; round < rounds && !HasFailure(); ++round) {
      pass_time();
      for (const auto& call : decide_some())
        if (auto found = difference(*call)) return found;
    }
    return std::nullopt;
  }

  TestRedisServer server_;
  ManualClock time_{1'800'000'000 * kSecond};
  MemoryCounters memory_{time_, params_, {.bytes_max = 8 << 20}};
  NaiveCounters naive_{time_, params_};
  std::vector<std::pair<ParamsId, ParamsId>> limits_;  // of each key: now, and before
  std::vector<Granted> granted_;
  std::map<const TestCall*, Granted> refunds_;  // in flight
  std::map<KeyHash, KnownId> known_ids_;
  std::uint64_t hot_key_ = 0;
  std::map<KeyHash, VectorLife> lives_;
};

TEST_P(RedisDifferentialTest, DecidesAsMemoryDoes) {
  const std::uint64_t seed = test_seed();
  SCOPED_TRACE("SLUICE_SEED=" + std::to_string(seed));
  connect(seed, std::string(redis_script()));
  const auto found = run_trace(GetParam() == Trace::kMerged ? 500 : 1500);
  ASSERT_FALSE(found) << found->what << "; as a group for tests/vectors, to be filled in by reference.py:\n"
                      << found->life;
  EXPECT_EQ(store_->stats().contradictions, 0u);
  EXPECT_GT(store_->stats().checks, store_->stats().batches * (GetParam() == Trace::kMerged ? 8 : 2));
  EXPECT_EQ(store_->stats().denied_from_memory > 0, GetParam() != Trace::kWithStepsBack);
}

std::string replaced(std::string text, const std::string& what, const std::string& with) {
  const std::size_t at = text.find(what);
  EXPECT_NE(at, std::string::npos) << "no longer there, choose another mistake: " << what;
  return at == std::string::npos ? text : text.replace(at, what.size(), with);
}

// The last row of a group once the reference has filled it in: "now cost | allowed remaining retry reset |
// …".
std::string filled_in(const std::string& life) {
  const auto path = std::filesystem::temp_directory_path() / ("sluice-" + std::to_string(getpid()) + ".vec");
  std::ofstream(path) << life;
  const std::string command =
      "/usr/bin/python3 " SLUICE_SOURCE_DIR "/tests/vectors/reference.py fill " + path.string();
  EXPECT_EQ(std::system(command.c_str()), 0);
  std::ifstream file(path);
  std::string line, last;
  while (std::getline(file, line)) last = line;
  std::filesystem::remove(path);
  return last;
}

// The test works: it detects a script with a small mistake, and the printed group shows, by the independent
// model, what would have been right.
TEST_P(RedisDifferentialTest, APlantedMistakeIsFound) {
  const std::map<Trace, std::pair<std::string, std::string>> mistakes = {
      {Trace::kWithLooks, {"+ cost * limit.interval_us", "+ cost * limit.interval_us + 1"}},
      {Trace::kWithStepsBack, {"if at > index + 1 then at = index + 1 end", ""}},
      {Trace::kWithChanges, {"carried(from, to, units_used(from,", "carried(from, to, units_used(to,"}},
      {Trace::kWithRefunds, {"given_us = given_us - since_us", ""}},
      {Trace::kMerged, {"elseif same then", "else"}},
  };
  const auto& [what, with] = mistakes.at(GetParam());
  connect(7, replaced(std::string(redis_script()), what, with));
  const auto found = run_trace(5000);
  ASSERT_TRUE(found);
  const std::string row = filled_in(found->life);
  const Outcome& o = found->expected.outcome;
  char right[200];
  std::snprintf(right, sizeof right, "| %3s %10ld %14ld %14ld |", o.allowed ? "yes" : "no", o.remaining,
                o.retry_after_us, o.reset_after_us);
  EXPECT_NE(row.find(right), std::string::npos) << row << "\n" << right << "\n" << found->life;
}

std::string name_of(const testing::TestParamInfo<Trace>& trace) {
  constexpr const char* kNames[] = {"WithLooks", "WithStepsBack", "WithChanges", "WithRefunds", "Merged"};
  return kNames[static_cast<int>(trace.param)];
}
INSTANTIATE_TEST_SUITE_P(Traces, RedisDifferentialTest,
                         testing::Values(Trace::kWithLooks, Trace::kWithStepsBack, Trace::kWithChanges,
                                         Trace::kWithRefunds, Trace::kMerged),
                         name_of);

}  // namespace
}  // namespace sluice

#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "algorithm/limit_params.h"
#include "base/limits.h"
#include "base/secret/hash.h"
#include "store/memory/counters.h"
#include "store/params_table.h"

namespace sluice {

// Counters under test, on a clock that the test moves. Not thread-safe.
class CountersUnderTest {
 public:
  virtual ~CountersUnderTest() = default;
  virtual Counters& counters() = 0;
  virtual ParamsTable& params() = 0;
  virtual void advance(std::int64_t delta_us) = 0;  // their time
};

struct CountersFactory {
  std::string name;
  std::function<std::unique_ptr<CountersUnderTest>()> make;
};

// The promises of memory/counters.h, checked for every implementation (counters_conformance.cc). Its own test
// says:
//
//   INSTANTIATE_TEST_SUITE_P(Memory, CountersConformance, testing::Values(CountersFactory{"memory", make}));
class CountersConformance : public testing::TestWithParam<CountersFactory> {
 protected:
  static constexpr std::int64_t kSecond = 1'000'000;

  Counters& counters() { return under_test_->counters(); }
  void advance(std::int64_t delta_us) { under_test_->advance(delta_us); }

  ParamsId limit(Algorithm algorithm, std::int64_t count, std::int64_t period_us) {
    return under_test_->params().intern(
        make_limit_params(algorithm, {count, period_us}, std::nullopt).value());
  }
  static KeyHash key(std::string_view name) { return KeyHasher::from_text("conformance")(name); }

  // A check on one counter.
  ChargeResult charge(const Charge& charge) {
    ChargeResult result;
    std::int64_t now_us = 0;
    const Verdict verdict = counters().apply({&charge, 1}, {&result, 1}, now_us);
    EXPECT_EQ(verdict == Verdict::kAllowed, result.outcome.allowed);
    return result;
  }
  std::int64_t left(const KeyHash& name, ParamsId params) {
    return charge({name, params, 0}).outcome.remaining;
  }

 private:
  std::unique_ptr<CountersUnderTest> under_test_ = GetParam().make();
};

}  // namespace sluice

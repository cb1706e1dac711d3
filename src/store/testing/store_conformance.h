#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "algorithm/limit_params.h"
#include "base/limits.h"
#include "base/secret/hash.h"
#include "store/params_table.h"
#include "store/store.h"

namespace sluice {

// The interface of a store under test. Not thread-safe.
class StoreUnderTest {
 public:
  virtual ~StoreUnderTest() = default;
  virtual Store& store() = 0;
  virtual ParamsTable& params() = 0;
  virtual void advance(std::int64_t delta_us) = 0;  // the store's time
};

struct StoreFactory {
  std::string name;
  std::function<std::unique_ptr<StoreUnderTest>()> make;
};

// The promises of store.h, checked for every store (store_conformance.cc). A store's own test says:
//
//   INSTANTIATE_TEST_SUITE_P(Memory, StoreConformance, testing::Values(StoreFactory{"memory", make}));
class StoreConformance : public testing::TestWithParam<StoreFactory> {
 protected:
  static constexpr std::int64_t kSecond = 1'000'000;

  Store& store() { return under_test_->store(); }
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
    const Verdict verdict = store().apply({&charge, 1}, {&result, 1}, now_us);
    EXPECT_EQ(verdict == Verdict::kAllowed, result.outcome.allowed);
    return result;
  }
  std::int64_t left(const KeyHash& name, ParamsId params) {
    return charge({name, params, 0}).outcome.remaining;
  }

 private:
  std::unique_ptr<StoreUnderTest> under_test_ = GetParam().make();
};

}  // namespace sluice

#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/secret/hash.h"
#include "store/params_table.h"
#include "store/redis/testing/call.h"
#include "store/store.h"

namespace sluice {

// The interface of a Store under test. Not thread-safe.
class DedupeUnderTest {
 public:
  virtual ~DedupeUnderTest() = default;
  virtual Store& store() = 0;
  virtual ParamsTable& params() = 0;
  virtual void wait(std::int64_t us) = 0;                         // lets at least this much store time pass
  virtual bool run_until(const std::function<bool()>& done) = 0;  // false: it takes forever
};

struct DedupeFactory {
  std::string name;
  std::function<std::unique_ptr<DedupeUnderTest>()> make;
};

// What a request id means, checked for every Store (dedupe_conformance.cc). A store's own test says:
//
//   INSTANTIATE_TEST_SUITE_P(Local, DedupeConformance, testing::Values(DedupeFactory{"local", make}));
class DedupeConformance : public testing::TestWithParam<DedupeFactory> {
 protected:
  static constexpr std::int64_t kSecond = 1'000'000;

  Store& store() { return under_test_->store(); }
  void wait(std::int64_t us) { under_test_->wait(us); }

  ParamsId limit(Algorithm algorithm, std::int64_t count) {
    return under_test_->params().intern(
        make_limit_params(algorithm, {count, 86'400 * kSecond}, std::nullopt).value());
  }
  static KeyHash key(std::string_view name) { return KeyHasher::from_text("dedupe")(name); }

  void finish(TestCall& call) {
    if (store().start(call)) return;
    ASSERT_TRUE(under_test_->run_until([&] { return call.times_done > 0; }));
  }
  void finish_together(std::vector<std::unique_ptr<TestCall>>& calls) {
    for (const auto& call : calls)
      if (store().start(*call)) ++call->times_done;
    ASSERT_TRUE(under_test_->run_until([&] {
      for (const auto& call : calls)
        if (call->times_done == 0) return false;
      return true;
    }));
  }
  std::int64_t left(const KeyHash& counter, ParamsId params) {
    TestCall look({{counter, params, 0}});
    finish(look);
    return look.remaining();
  }
  void reset(const KeyHash& counter) {
    int existed = -2;
    const CounterName name{counter};
    store().reset({&name, 1}, [&](int count) { existed = count; });
    ASSERT_TRUE(under_test_->run_until([&] { return existed != -2; }));
    EXPECT_EQ(existed, 1);
  }

 private:
  std::unique_ptr<DedupeUnderTest> under_test_ = GetParam().make();
};

// Checks that a call repeats the answer of another.
void expect_same_answer(const TestCall& first, const TestCall& again);

}  // namespace sluice

#pragma once

#include <gtest/gtest.h>

#include <functional>
#include <random>
#include <string_view>

#include "base/clock.h"
#include "net/socket/event_loop.h"
#include "net/socket/tcp_transport.h"
#include "store/redis/testing/call.h"
#include "store/store.h"

namespace sluice {

// A Store on real servers and a real loop, driven by the test. Not thread-safe.
class LoopFixture : public testing::Test {
 protected:
  static constexpr std::int64_t kSecond = 1'000'000;

  // The store under test; null: there is none yet.
  virtual Store* driven() = 0;

  std::function<std::uint64_t(std::uint64_t)> random() {
    return [this](std::uint64_t below) {
      return std::uniform_int_distribution<std::uint64_t>(0, below - 1)(random_);
    };
  }

  void run_once() {
    loop_.wait(1);
    loop_.dispatch();
    if (Store* store = driven()) store->tick(clock_.now_us());
  }
  bool run_until(const std::function<bool()>& done, std::int64_t at_most_us = 20 * kSecond) {
    const std::int64_t end_us = clock_.now_us() + at_most_us;
    while (!done()) {
      if (clock_.now_us() > end_us) return false;
      run_once();
    }
    return true;
  }
  void run_for(std::int64_t us) {
    run_until([] { return false; }, us);
  }

  // Starts a call and runs until it is done.
  TestCall& finish(TestCall& call) {
    if (!driven()->start(call)) {
      EXPECT_TRUE(run_until([&] { return call.times_done > 0; }));
    }
    return call;
  }

  ParamsId limit(Algorithm algorithm, std::int64_t count, std::int64_t period_us, std::int64_t scale = 0) {
    LimitParams made = make_limit_params(algorithm, {count, period_us}, std::nullopt).value();
    made.scale = scale;
    return params_.intern(made);
  }
  static KeyHash key(std::string_view name) { return KeyHasher::from_text("redis")(name); }
  std::int64_t in_us(std::int64_t us) const { return clock_.now_us() + us; }

  SystemClock clock_;
  ParamsTable params_;
  net::EventLoop loop_;
  net::TcpTransport transport_{loop_};
  std::mt19937_64 random_{7};
};

}  // namespace sluice

#pragma once

#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "net/event_loop.h"
#include "net/tcp_transport.h"
#include "store/redis/redis_store.h"
#include "store/redis/script.h"
#include "store/redis/test_call.h"
#include "store/redis/test_redis_server.h"

namespace sluice {

// A RedisStore on a real server and a real loop, driven by the test. Not thread-safe.
class RedisStoreFixture : public testing::Test {
 protected:
  static constexpr std::int64_t kSecond = 1'000'000;

  void SetUp() override {
    ASSERT_EQ(access(TestRedisServer::kProgram, X_OK), 0) << "install Debian's redis-server";
  }

  RedisStoreOptions options(const TestRedisServer& server) const {
    RedisStoreOptions options;
    options.connection.address = {.host = "127.0.0.1", .port = server.port()};
    options.connection.script = redis_script();
    options.operation_timeout_us = kSecond;  // a busy machine is not a fault
    return options;
  }

  RedisStore& make_store(RedisStoreOptions with) {
    store_ = std::make_unique<RedisStore>(
        transport_, clock_, params_, std::move(with), [this](std::uint64_t below) {
          return std::uniform_int_distribution<std::uint64_t>(0, below - 1)(random_);
        });
    return *store_;
  }
  RedisStore& make_connected_store(RedisStoreOptions with) {
    RedisStore& store = make_store(std::move(with));
    EXPECT_TRUE(run_until([&] { return store.health().connected; }));
    return store;
  }

  void run_once() {
    loop_.wait(1);
    loop_.dispatch();
    if (store_) store_->tick(clock_.now_us());
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
    if (!store_->start(call)) {
      EXPECT_TRUE(run_until([&] { return call.times_done > 0; }));
    }
    return call;
  }

  ParamsId limit(Algorithm algorithm, std::int64_t count, std::int64_t period_us) {
    return params_.intern(make_limit_params(algorithm, {count, period_us}, std::nullopt).value());
  }
  static KeyHash key(std::string_view name) { return KeyHasher::from_text("redis")(name); }
  std::int64_t in_us(std::int64_t us) const { return clock_.now_us() + us; }

  SystemClock clock_;
  ParamsTable params_;
  net::EventLoop loop_;
  net::TcpTransport transport_{loop_};
  std::mt19937_64 random_{7};
  std::unique_ptr<RedisStore> store_;
};

}  // namespace sluice

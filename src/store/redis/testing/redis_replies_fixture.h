#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "redis/testing/fake_transport.h"
#include "store/redis/redis_store.h"
#include "store/redis/testing/call.h"

namespace sluice {

// A RedisStore with a server and a clock played by the test: for exact timing, and for odd replies. Not
// thread-safe.
class RedisRepliesFixture : public testing::Test {
 protected:
  static constexpr std::int64_t kSecond = 1'000'000;

  RedisRepliesFixture() {
    options_.connection.address = {.host = "cache"};
    options_.connection.script = "return 1";
    options_.operation_timeout_us = 50'000;
    options_.batches_in_flight = 1;
  }
  RedisStore& connect() {
    store_ =
        std::make_unique<RedisStore>(server_, clock_, params_, options_, [](std::uint64_t) { return 0; });
    reconnect();
    return *store_;
  }
  void reconnect() {
    pass(0);
    let_in();
    server_.take_sent();
  }
  void pass(std::int64_t us) {
    clock_.advance(us);
    store_->tick(clock_.now_us());
  }
  // The next connection attempt meets a server that lets us in.
  void let_in() {
    ASSERT_TRUE(server_.open());
    server_.accept();
    server_.say("+OK\r\n$4\r\n5ba1\r\n");
  }
  std::unique_ptr<TestCall> call(std::int64_t patience_us = 0, std::uint64_t key = 1) {
    return std::make_unique<TestCall>(std::vector<Charge>{{{0, key}, limit_}},
                                      patience_us == 0 ? 0 : clock_.now_us() + patience_us);
  }
  std::unique_ptr<TestCall> call_with_id(std::int64_t patience_us = 0) {
    auto made = call(patience_us);
    made->dedupe = Dedupe{{5, 5}, 7, kSecond};
    return made;
  }
  // The script's reply to one check on a fresh counter.
  static std::string admitted_with_id() { return "*4\r\n:1800000000000000\r\n$-1\r\n:1\r\n$-1\r\n"; }
  static std::string admitted(int count = 1) {
    return "*3\r\n:1800000000000000\r\n$-1\r\n:" + std::to_string(count) + "\r\n";
  }

  ManualClock clock_{1'700'000'000 * kSecond};
  ParamsTable params_;
  const ParamsId limit_ =
      params_.intern(make_limit_params(Algorithm::kGcra, {10, 60 * kSecond}, std::nullopt).value());
  redis::FakeTransport server_;
  RedisBackendOptions options_;
  std::unique_ptr<RedisStore> store_;
};

}  // namespace sluice

#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <utility>

#include "redis/testing/redis_server.h"
#include "store/redis/redis_store.h"
#include "store/redis/script/script.h"
#include "store/redis/testing/loop_fixture.h"

namespace sluice {

// A RedisStore on a real server and a real loop, driven by the test. Not thread-safe.
class RedisStoreFixture : public LoopFixture {
 protected:
  void SetUp() override {
    ASSERT_EQ(access(TestRedisServer::kProgram, X_OK), 0) << "install Debian's redis-server";
  }

  RedisBackendOptions options(const TestRedisServer& server) const {
    RedisBackendOptions options;
    options.connection.address = {.host = "127.0.0.1", .port = server.port()};
    options.connection.script = redis_script();
    options.operation_timeout_us = options.slow_us = kSecond;  // a busy machine is not a failure
    return options;
  }

  RedisStore& make_store(RedisBackendOptions with) {
    store_ = std::make_unique<RedisStore>(transport_, clock_, params_, std::move(with), random());
    return *store_;
  }
  RedisStore& make_connected_store(RedisBackendOptions with) {
    RedisStore& store = make_store(std::move(with));
    EXPECT_TRUE(run_until([&] { return store.health().connected; }));
    return store;
  }

  Store* driven() override { return store_.get(); }

  std::unique_ptr<RedisStore> store_;
};

}  // namespace sluice

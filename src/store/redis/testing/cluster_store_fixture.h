#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <utility>
#include <vector>

#include "redis/testing/redis_cluster.h"
#include "store/redis/cluster/cluster_store.h"
#include "store/redis/script/script.h"
#include "store/redis/script/wire.h"
#include "store/redis/testing/loop_fixture.h"

namespace sluice {

// A ClusterStore on a real cluster of three masters and a real loop, driven by the test. Not thread-safe.
class ClusterStoreFixture : public LoopFixture {
 protected:
  // Tests that leave the cluster as it was share one, as starting one takes seconds.
  ClusterStoreFixture() : cluster_(shared_cluster()) {}
  // A cluster of its own, which the test may damage.
  explicit ClusterStoreFixture(std::size_t replicas_of_each)
      : own_(std::make_unique<TestRedisCluster>(3, replicas_of_each)), cluster_(*own_) {}

  void SetUp() override {
    ASSERT_EQ(access(TestRedisServer::kProgram, X_OK), 0) << "install Debian's redis-server";
    if (!cluster_.started()) cluster_.start();
    for (std::size_t i = 0; i < 3; ++i) cluster_.node(i).ask({"FLUSHALL"});
  }

  ClusterStoreOptions options() const {
    ClusterStoreOptions options;
    options.seeds = cluster_.seeds();
    options.node.connection.script = redis_script();
    options.node.operation_timeout_us = options.node.slow_us = kSecond;  // a busy machine is not a failure
    return options;
  }
  ClusterStore& make_connected_store(ClusterStoreOptions with) {
    store_ = std::make_unique<ClusterStore>(transport_, clock_, params_, std::move(with), random());
    EXPECT_TRUE(run_until([&] { return store_->health().connected; }));
    return *store_;
  }
  Store* driven() override { return store_.get(); }

  // A tag whose slot that master has at first; another slot for each n.
  std::uint32_t tag_on(std::size_t master, int n = 0) const {
    std::uint32_t tag = 0;
    for (;; ++tag) {
      const std::size_t slot = slot_of_tag(tag);
      if (slot >= cluster_.first_slot(master) && slot < cluster_.first_slot(master + 1) && n-- == 0)
        return tag;
    }
  }
  // A charge on a counter that never refills.
  Charge charge(std::string_view name, std::uint32_t tag, std::int64_t cost = 1,
                std::int64_t of = 1'000'000) {
    return {.key = key(name),
            .params = limit(Algorithm::kFixedWindow, of, 366 * 86'400 * kSecond),
            .cost = cost,
            .slot_tag = tag};
  }
  // How much of a counter is used; retries until there is an answer.
  std::int64_t used(Charge counter) {
    const std::int64_t of = params_[counter.params].capacity;
    counter.cost = 0;
    for (int tries = 0; tries < 1000; ++tries, run_once()) {
      TestCall look({counter});
      if (finish(look).allowed()) return of - look.remaining();
    }
    ADD_FAILURE() << "nobody answers";
    return -1;
  }

  static TestRedisCluster& shared_cluster() {
    static TestRedisCluster cluster(3, 0);
    return cluster;
  }

  const std::unique_ptr<TestRedisCluster> own_;
  TestRedisCluster& cluster_;
  std::unique_ptr<ClusterStore> store_;
};

}  // namespace sluice

#include "server/cells/cell_stores.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>

#include "base/limits.h"
#include "server/testing/cells_fixture.h"
#include "store/store_report.h"

namespace sluice::server {
namespace {

using testing::cell_at;
using ::testing::ElementsAre;
using testing::make_cells;

struct FakeStore final : Store {
  FakeStore(std::map<std::string, FakeStore*>& all, std::string name) : alive(all), host(std::move(name)) {
    alive[host] = this;
  }
  ~FakeStore() override { alive.erase(host); }
  bool start(StoreCall&) override { return true; }
  void reset(std::span<const CounterName>, std::function<void(int)> done) override { done(0); }
  void begin_burst() override { ++bursts; }
  void tick(std::int64_t) override { ++ticks; }
  std::int64_t next_due_us() const override { return due_us; }
  Health health() const override {
    return {.connected = connected,
            .problems = connected ? std::vector<std::string>{} : std::vector{host + " is gone"}};
  }

  void report(StoreReport& report) const override {
    report.metrics.add(StoreMetrics::Kind::kCounter, "checks", "", 1);
    report.servers.push_back({.name = host, .ahead_us = 7});
  }

  std::map<std::string, FakeStore*>& alive;
  std::string host;
  bool connected = true;
  int bursts = 0, ticks = 0;
  std::int64_t due_us = INT64_MAX;
};

class CellStoresTest : public ::testing::Test {
 protected:
  std::unique_ptr<Store> make(const StoreSettings& settings) {
    auto store = std::make_unique<FakeStore>(alive, settings.redis->addresses.front().host);
    store->connected = connected;
    return store;
  }
  CellStores stores_of(std::vector<Cell> others, const std::string& host = "home") {
    return {memory, [this](const StoreSettings& settings) { return make(settings); },
            make_cells(std::move(others), host)};
  }
  std::vector<std::string> hosts() const {
    std::vector<std::string> out;
    for (const auto& [host, store] : alive) out.push_back(host);
    return out;
  }

  std::map<std::string, FakeStore*> alive, unused;
  FakeStore memory{unused, "memory"};
  bool connected = true;
};

TEST_F(CellStoresTest, EachCellHasAStoreAndMemoryIsShared) {
  CellStores stores =
      stores_of({cell_at("eu", "eu", {"acme"}), cell_at("memory", "here", {"local"}, {"free"})});
  EXPECT_THAT(hosts(), ElementsAre("eu", "home"));
  EXPECT_EQ(&stores.store_for("acme", ""), &stores.store_for("acme", "free"));
  EXPECT_NE(&stores.store_for("acme", ""), &stores.default_store());
  EXPECT_EQ(&stores.store_for("other", ""), &stores.default_store());
  EXPECT_EQ(&stores.store_for("local", ""), &memory);
  EXPECT_EQ(&stores.store_for("other", "free"), &memory);
  stores.begin_burst();
  stores.tick(1);
  EXPECT_EQ(alive["eu"]->bursts, 1);
  EXPECT_EQ(alive["eu"]->ticks, 1);
  EXPECT_EQ(memory.ticks, 1);
  alive["eu"]->due_us = 5;
  EXPECT_EQ(stores.next_due_us(), 5);
}

TEST_F(CellStoresTest, FollowsACellThatChangesComesOrGoes) {
  CellStores stores = stores_of({cell_at("eu", "eu", {"acme"}), cell_at("us", "us", {"bank"})});
  Store* const home = &stores.default_store();
  Store* const eu = &stores.store_for("acme", "");
  stores.follow(make_cells({cell_at("asia", "asia", {"new"}), cell_at("eu2", "eu", {"acme"})}), 10);
  EXPECT_EQ(&stores.default_store(), home);
  EXPECT_EQ(&stores.store_for("acme", ""), eu) << "behind it is another";
  EXPECT_EQ(&stores.store_for("bank", ""), home);
  EXPECT_THAT(hosts(), ElementsAre("asia", "eu", "eu2", "home", "us"));
  stores.tick(10);
  EXPECT_EQ(alive["us"]->ticks, 1) << "calls under way finish";
  stores.tick(10 + kDeadlineUsMax);
  EXPECT_THAT(hosts(), ElementsAre("asia", "eu2", "home"));
  const StoreSummary summary = stores.summary();
  ASSERT_EQ(summary.metrics.families().size(), 1u);
  EXPECT_EQ(summary.metrics.families()[0].samples[0].value, 5u) << "nothing that was counted is lost";
  EXPECT_EQ(summary.servers.size(), 3u) << "of the servers in use";
}

TEST_F(CellStoresTest, ACellMayMoveBetweenMemoryAndRedis) {
  CellStores stores = stores_of({cell_at("memory", "eu", {"acme"})});
  stores.follow(make_cells({cell_at("eu", "eu", {"acme"})}), 0);
  EXPECT_NE(&stores.store_for("acme", ""), &memory);
  stores.follow(make_cells({cell_at("memory", "eu", {"acme"})}), 0);
  EXPECT_EQ(&stores.store_for("acme", ""), &memory);
}

TEST_F(CellStoresTest, ReadyOnceEachWasReached) {
  connected = false;
  CellStores stores = stores_of({cell_at("eu", "eu", {"acme"})});
  alive["home"]->connected = true;
  StoreSummary summary = stores.summary();
  EXPECT_FALSE(summary.reached);
  EXPECT_EQ(summary.connected, 0);
  EXPECT_THAT(summary.problems, ElementsAre("cell eu: eu is gone"));
  alive["home"]->connected = false;
  alive["eu"]->connected = true;
  summary = stores.summary();
  EXPECT_TRUE(summary.reached) << "not necessarily at the same time";
  EXPECT_THAT(summary.problems, ElementsAre("home is gone"));
  stores.follow(make_cells({cell_at("eu", "eu", {"acme"}), cell_at("us", "us", {"bank"})}), 0);
  EXPECT_TRUE(stores.summary().reached) << "those who are served stay served";
}

TEST_F(CellStoresTest, InMemoryThereAreNoMetricsOfTheLoop) {
  CellStores stores = stores_of({cell_at("memory", "here", {"local"})}, "memory");
  const StoreSummary summary = stores.summary();
  EXPECT_TRUE(summary.metrics.empty()) << "the memory that all loops share is not this loop's";
  EXPECT_TRUE(summary.reached);
  EXPECT_EQ(summary.connected, 1);
}

}  // namespace
}  // namespace sluice::server

#pragma once

#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "redis/cluster/cluster_slots.h"
#include "redis/testing/redis_server.h"
#include "redis/url/redis_url.h"

namespace sluice {

// A real Redis Cluster on this machine, for tests: masters with equal shares of the slots, each with its
// replicas. The destructor stops it. Not thread-safe.
class TestRedisCluster {
 public:
  TestRedisCluster(std::size_t masters, std::size_t replicas_of_each) : masters_(masters) {
    // Without replicas nobody can take over, so a busy machine must not look like a failure.
    const std::string node_timeout_ms = replicas_of_each > 0 ? "1000" : "10000";
    for (std::size_t i = 0; i < masters * (1 + replicas_of_each); ++i) {
      nodes_.push_back(std::make_unique<TestRedisServer>(std::vector<std::string>{
          "--cluster-enabled", "yes", "--cluster-port",
          std::to_string(bus_ports_.emplace_back(free_test_port())), "--cluster-node-timeout",
          node_timeout_ms, "--cluster-require-full-coverage", "no",
          // A replica takes over even if it is not fully up to date with its master.
          "--cluster-replica-validity-factor", "0", "--repl-diskless-sync-delay", "0"}));
    }
  }

  // Returns when every node reports that all is well.
  void start() {
    for (const auto& each : nodes_) each->start();
    for (std::size_t i = 0; i < nodes_.size(); ++i) {
      ids_.push_back(node(i).ask({"CLUSTER", "MYID"}));
      node(i).ask({"CLUSTER", "SET-CONFIG-EPOCH", std::to_string(i + 1)});
      if (i < masters_)
        node(i).ask({"CLUSTER", "ADDSLOTSRANGE", std::to_string(first_slot(i)),
                     std::to_string(first_slot(i + 1) - 1)});
    }
    ASSERT_TRUE(meet());
    for (std::size_t i = masters_; i < nodes_.size(); ++i)
      ASSERT_TRUE(
          waits_until([&] { return node(i).ask({"CLUSTER", "REPLICATE", ids_[i % masters_]}) == "OK"; }));
    for (std::size_t i = masters_; i < nodes_.size(); ++i)
      ASSERT_TRUE(waits_until([&] { return follows(i); }));
    for (std::size_t i = 0; i < nodes_.size(); ++i)
      ASSERT_TRUE(waits_until([&] { return says(i, "cluster_state:ok"); }));
  }

  bool started() const { return !ids_.empty(); }

  // First the masters, then a replica of each, then the second.
  TestRedisServer& node(std::size_t i) const { return *nodes_[i]; }
  std::size_t first_slot(std::size_t master) const { return master * redis::kSlots / masters_; }

  std::vector<redis::Address> seeds() const { return {{.host = "127.0.0.1", .port = node(0).port()}}; }

  // Moves a slot step by step, with SETSLOT and MIGRATE.
  void begin_move(std::size_t slot, std::size_t from, std::size_t to) const {
    node(to).ask({"CLUSTER", "SETSLOT", std::to_string(slot), "IMPORTING", ids_[from]});
    node(from).ask({"CLUSTER", "SETSLOT", std::to_string(slot), "MIGRATING", ids_[to]});
  }
  // Moves some of its keys; false when there are none left.
  bool move_keys(std::size_t slot, std::size_t from, std::size_t to, std::size_t at_most) const {
    const std::string slot_text = std::to_string(slot), count = std::to_string(at_most);
    const std::string_view get[] = {"CLUSTER", "GETKEYSINSLOT", slot_text, count};
    const std::vector<std::string> keys = node(from).ask_all(get);
    if (keys.empty()) return false;
    const std::string port = std::to_string(node(to).port());
    std::vector<std::string_view> migrate = {"MIGRATE", "127.0.0.1", port, "", "0", "5000", "KEYS"};
    migrate.insert(migrate.end(), keys.begin(), keys.end());
    EXPECT_EQ(node(from).ask(migrate), "OK");
    return true;
  }
  void end_move(std::size_t slot, std::size_t to) const {
    node(to).ask({"CLUSTER", "SETSLOT", std::to_string(slot), "NODE", ids_[to]});
    for (std::size_t i = 0; i < masters_; ++i)
      if (i != to) node(i).ask({"CLUSTER", "SETSLOT", std::to_string(slot), "NODE", ids_[to]});
  }

  // Calls of the script on all nodes.
  long script_calls() const {
    long calls = 0;
    for (const auto& each : nodes_)
      calls += each->info("commandstats", "cmdstat_evalsha:calls=") +
               each->info("commandstats", "cmdstat_eval:calls=");
    return calls;
  }

 private:
  // Introduces all nodes to each other. A node gives up on a handshake that takes longer than its timeout, as
  // on a busy machine, so it is repeated.
  bool meet() const {
    constexpr int kTries = 10, kPatience = 300;
    for (int tries = 0; tries < kTries; ++tries) {
      for (std::size_t i = 0; i < nodes_.size(); ++i)
        node(0).ask(
            {"CLUSTER", "MEET", "127.0.0.1", std::to_string(node(i).port()), std::to_string(bus_ports_[i])});
      if (waits_until([&] { return all_know_all(); }, kPatience)) return true;
    }
    return false;
  }
  bool all_know_all() const {
    const std::string all_known = "cluster_known_nodes:" + std::to_string(nodes_.size()) + "\r";
    for (std::size_t i = 0; i < nodes_.size(); ++i)
      if (!says(i, all_known) || !says(i, "cluster_slots_ok:16384")) return false;
    return true;
  }
  bool says(std::size_t i, std::string_view word) const {
    return node(i).ask({"CLUSTER", "INFO"}).contains(word);
  }
  bool follows(std::size_t i) const {
    return node(i).ask({"INFO", "replication"}).contains("master_link_status:up");
  }

  static bool waits_until(const std::function<bool()>& true_at_last, int looks = 2000) {
    for (int tries = 0; tries < looks; ++tries, usleep(10'000))
      if (true_at_last()) return true;
    return false;
  }

  const std::size_t masters_;
  std::vector<std::uint16_t> bus_ports_;
  std::vector<std::unique_ptr<TestRedisServer>> nodes_;
  std::vector<std::string> ids_;
};

}  // namespace sluice

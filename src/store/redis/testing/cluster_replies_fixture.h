#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "redis/testing/fake_network.h"
#include "store/redis/cluster/cluster_store.h"
#include "store/redis/script/wire.h"
#include "store/redis/testing/call.h"

namespace sluice {

// A ClusterStore with servers and a clock played by the test: three masters, a to c, with a third of the
// slots each. Not thread-safe.
class ClusterRepliesFixture : public testing::Test {
 protected:
  static constexpr std::int64_t kSecond = 1'000'000;
  static constexpr const char *kA = "a:7000", *kB = "b:7001", *kC = "c:7002", *kD = "d:7003";
  static constexpr const char* kEvalsha = "$7\r\nEVALSHA\r\n$4\r\n5ba1\r\n";
  // How a node is asked for its map.
  static constexpr const char* kMapCommands =
      "*2\r\n$7\r\nCLUSTER\r\n$5\r\nNODES\r\n*2\r\n$7\r\nCLUSTER\r\n$5\r\nSLOTS\r\n";

  ClusterRepliesFixture() {
    options_.seeds = {{.host = "a", .port = 7000}};
    options_.node.connection.script = "return 1";
    options_.node.batches_in_flight = 1;
  }

  void make_store() {
    store_.reset();
    network_ = {};
    store_ = std::make_unique<ClusterStore>(network_, clock_, params_, options_,
                                            [](std::uint64_t below) { return below / 2; });
  }
  ClusterStore& connect() {
    make_store();
    pass(0);
    log_in(kA);
    pass(0);
    EXPECT_EQ(at(kA).take_sent(), kMapCommands);
    at(kA).say(report(whole_map()));
    pass(0);
    log_in(kB);
    log_in(kC);
    return *store_;
  }
  void log_in(std::string_view place) {
    ASSERT_TRUE(at(place).open()) << place;
    at(place).accept();
    at(place).take_sent();
    at(place).say("+OK\r\n$4\r\n5ba1\r\n");  // waiting calls are sent now
  }
  // The last connection to that place.
  redis::FakeNetwork::Wire& at(std::string_view place) {
    for (auto wire = network_.wires.rbegin(); wire != network_.wires.rend(); ++wire)
      if ((*wire)->to == place) return **wire;
    return never_called_;
  }
  void pass(std::int64_t us) {
    clock_.advance(us);
    store_->tick(clock_.now_us());
  }

  // All nodes that were asked for the map reply with this one. REQUIRES: nothing else was sent before.
  void answer_refreshes(const std::string& map) {
    for (const char* node : {kA, kB, kC})
      if (at(node).take_sent().starts_with(kMapCommands)) at(node).say(report(map));
  }

  static std::string range(int first, int last, std::string_view host, int port) {
    return "*3\r\n:" + std::to_string(first) + "\r\n:" + std::to_string(last) + "\r\n*3\r\n$" +
           std::to_string(host.size()) + "\r\n" + std::string(host) + "\r\n:" + std::to_string(port) +
           "\r\n$2\r\nid\r\n";
  }
  // A node's replies, to CLUSTER NODES and to CLUSTER SLOTS.
  static std::string report(const std::string& map, const std::string& nodes = "") {
    return "$" + std::to_string(nodes.size()) + "\r\n" + nodes + "\r\n" + map;
  }
  static std::string whole_map() {
    return "*3\r\n" + range(0, 5460, "a", 7000) + range(5461, 10922, "b", 7001) +
           range(10923, 16383, "c", 7002);
  }

  // A tag whose slot is on that node at first; another slot for each n.
  static std::uint32_t tag_on(std::string_view place, int n = 0) {
    const int first = place == kA ? 0 : place == kB ? 5461 : 10923;
    std::uint32_t tag = 0;
    for (;; ++tag) {
      const std::uint16_t slot = slot_of_tag(tag);
      if (slot >= first && slot < first + 5461 && n-- == 0) return tag;
    }
  }
  Charge charge(std::uint32_t tag, std::uint64_t key = 1, std::int64_t cost = 1) const {
    return {.key = {0, key}, .params = limit_, .cost = cost, .slot_tag = tag};
  }
  std::unique_ptr<TestCall> call(std::vector<Charge> charges, std::int64_t patience_us = 0) {
    return std::make_unique<TestCall>(std::move(charges),
                                      patience_us == 0 ? 0 : clock_.now_us() + patience_us);
  }
  std::unique_ptr<TestCall> call_on(std::string_view place, std::int64_t patience_us = 0) {
    return call({charge(tag_on(place))}, patience_us);
  }
  static std::string redirect(std::string_view kind, std::uint32_t tag, std::string_view to) {
    return "-" + std::string(kind) + " " + std::to_string(slot_of_tag(tag)) + " " + std::string(to) + "\r\n";
  }
  // The script's reply to one check on fresh counters.
  static std::string answer(bool admitted = true, int counters = 1) {
    std::string reply = "*" + std::to_string(2 + counters) + "\r\n:1800000000000000\r\n";
    for (int i = 0; i < counters; ++i) reply += "$-1\r\n";
    return reply + (admitted ? ":1\r\n" : ":0\r\n");
  }
  static int count(std::string_view text, std::string_view word) {
    int times = 0;
    for (std::size_t at = text.find(word); at != std::string_view::npos; at = text.find(word, at + 1))
      ++times;
    return times;
  }

  ManualClock clock_{1'700'000'000 * kSecond};
  ParamsTable params_;
  const ParamsId limit_ =
      params_.intern(make_limit_params(Algorithm::kGcra, {10, 60 * kSecond}, std::nullopt).value());
  redis::FakeNetwork network_;
  redis::FakeNetwork::Wire never_called_;
  ClusterStoreOptions options_;
  std::unique_ptr<ClusterStore> store_;
};

}  // namespace sluice

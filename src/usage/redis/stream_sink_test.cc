#include "usage/redis/stream_sink.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "redis/testing/redis_cluster.h"
#include "redis/testing/redis_server.h"
#include "usage/testing/sink_driver.h"

namespace sluice::usage {
namespace {

StreamTarget at(const TestRedisServer& server, const std::string& login = "", const std::string& more = "") {
  const auto target = parse_usage_target("redis://" + login + "127.0.0.1:" + std::to_string(server.port()) +
                                         "?stream=usage.events" + more);
  return std::get<StreamTarget>(target->server);
}

// The bodies of the stream's entries, oldest first.
std::vector<std::string> events(const TestRedisServer& server) {
  const std::string_view range[] = {"XRANGE", "usage.events", "-", "+"};
  std::vector<std::string> bodies;
  for (const std::string& text : server.ask_all(range))
    if (text.starts_with('{')) bodies.push_back(text);
  return bodies;
}
// Without those that came before.
std::vector<std::string> first_ones(const std::vector<std::string>& all) {
  std::vector<std::string> first;
  for (const std::string& body : all)
    if (std::ranges::find(first, body) == first.end()) first.push_back(body);
  return first;
}
TEST(StreamSink, AppendsBatchesInOrder) {
  TestRedisServer server;
  server.start();
  SinkDriver driver;
  StreamSink sink(at(server), driver.clock(), driver.on_done());
  ASSERT_TRUE(driver.send_all(sink, 50, 7));
  EXPECT_EQ(events(server), SinkDriver::bodies(50));
  EXPECT_EQ(sink.status().sent, 50u);
  EXPECT_EQ(sink.status().problem, "");
  EXPECT_EQ(driver.done(), 50u);
}

TEST(StreamSink, KeepsTheStreamShort) {
  TestRedisServer server({"--stream-node-max-entries", "10"});
  server.start();
  SinkDriver driver;
  StreamSink sink(at(server, "", "&maxlen=20"), driver.clock(), driver.on_done());
  ASSERT_TRUE(driver.send_all(sink, 500, 100));
  EXPECT_LE(std::stol(server.ask({"XLEN", "usage.events"})), 40);
}

TEST(StreamSink, WaitsForAServerThatIsNotThere) {
  TestRedisServer server;
  SinkDriver driver;
  StreamSink sink(at(server), driver.clock(), driver.on_done());
  while (sink.has_room()) driver.give(sink, 10);
  ASSERT_TRUE(driver.turns_until(sink, [&] { return !sink.status().problem.empty(); }));
  EXPECT_EQ(sink.status().in_hand, driver.given());
  server.start();
  ASSERT_TRUE(driver.turns_until(sink, [&] { return sink.status().in_hand == 0; }));
  EXPECT_EQ(events(server), SinkDriver::bodies(driver.given()));
  EXPECT_EQ(sink.status().problem, "");
}

TEST(StreamSink, LosesNothingWhenTheServerIsKilled) {
  TestRedisServer server({"--appendonly", "yes", "--appendfsync", "always"});
  server.start();
  SinkDriver driver;
  StreamSink sink(at(server), driver.clock(), driver.on_done());
  ASSERT_TRUE(driver.send_all(sink, 100, 10));
  server.kill();
  while (sink.has_room()) driver.give(sink, 10);
  ASSERT_TRUE(driver.turns_until(sink, [&] { return !sink.status().problem.empty(); }));
  server.start();
  ASSERT_TRUE(driver.turns_until(sink, [&] { return sink.status().in_hand == 0; }));
  EXPECT_EQ(first_ones(events(server)), SinkDriver::bodies(driver.given()));
}

// The frozen server may find the first copy of what was sent again when it wakes.
TEST(StreamSink, LosesNothingWhenTheServerIsFrozen) {
  TestRedisServer server;
  server.start();
  SinkDriver driver;
  StreamSink sink(at(server), driver.clock(), driver.on_done());
  ASSERT_TRUE(driver.send_all(sink, 100, 10));
  server.freeze();
  while (sink.has_room()) driver.give(sink, 10);
  ASSERT_TRUE(driver.turns_until(sink, [&] { return !sink.status().problem.empty(); }));
  server.thaw();
  ASSERT_TRUE(driver.turns_until(sink, [&] { return sink.status().in_hand == 0; }));
  EXPECT_EQ(first_ones(events(server)), SinkDriver::bodies(driver.given()));
}

TEST(StreamSink, ABatchThatIsRefusedIsSentAgain) {
  TestRedisServer server;
  server.start();
  ASSERT_EQ(server.ask({"SET", "usage.events", "not a stream"}), "OK");
  SinkDriver driver;
  StreamSink sink(at(server), driver.clock(), driver.on_done());
  driver.give(sink, 10);
  driver.give(sink, 10);
  ASSERT_TRUE(driver.turns_until(sink, [&] { return sink.status().problem.starts_with("refuses:"); }));
  EXPECT_EQ(sink.status().sent, 0u);
  server.ask({"DEL", "usage.events"});
  ASSERT_TRUE(driver.turns_until(sink, [&] { return sink.status().in_hand == 0; }));
  EXPECT_EQ(events(server), SinkDriver::bodies(20));
  EXPECT_EQ(sink.status().problem, "");
}

TEST(StreamSink, SaysWhichRightsAreMissing) {
  TestRedisServer server;
  server.start();
  ASSERT_EQ(server.ask({"ACL", "SETUSER", "meter", "on", ">hunter2", "+multi", "+exec", "+ping", "~usage.*"}),
            "OK");
  SinkDriver driver;
  StreamSink sink(at(server, "meter:hunter2@"), driver.clock(), driver.on_done());
  driver.give(sink, 1);
  ASSERT_TRUE(driver.turns_until(sink, [&] { return sink.status().problem.contains("XADD"); }))
      << sink.status().problem;
  ASSERT_EQ(server.ask({"ACL", "SETUSER", "meter", "+xadd"}), "OK");
  ASSERT_TRUE(driver.turns_until(sink, [&] { return sink.status().in_hand == 0; }));
}

TEST(StreamSink, FindsTheNodeOfAClusterThatHasTheStream) {
  TestRedisCluster cluster(3, 0);
  cluster.start();
  const std::size_t slot = redis::key_slot("usage.events");
  std::size_t owner = 2;
  while (cluster.first_slot(owner) > slot) --owner;
  const auto target =
      parse_usage_target("redis+cluster://127.0.0.1:" + std::to_string(cluster.node((owner + 1) % 3).port()));
  SinkDriver driver;
  StreamSink sink(std::get<StreamTarget>(target->server), driver.clock(), driver.on_done());
  ASSERT_TRUE(driver.send_all(sink, 20, 5));
  EXPECT_EQ(events(cluster.node(owner)), SinkDriver::bodies(20));
}

}  // namespace
}  // namespace sluice::usage

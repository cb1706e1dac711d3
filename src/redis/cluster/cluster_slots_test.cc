#include "redis/cluster/cluster_slots.h"

#include <gmock/gmock.h>

#include <random>

namespace sluice::redis {
namespace {

using testing::ElementsAre;

const Endpoint kAsked{"10.0.0.9", 7000};

// What the parser makes of these bytes.
std::optional<SlotMap> map_of(std::string_view bytes) {
  RespParser parser;
  parser.feed(bytes);
  if (parser.next() != RespParser::Status::kReply) return std::nullopt;
  return read_slot_map(parser.reply(), kAsked);
}

std::string node(std::string_view host, int port) {
  return "*3\r\n$" + std::to_string(host.size()) + "\r\n" + std::string(host) +
         "\r\n:" + std::to_string(port) + "\r\n$2\r\nid\r\n";
}

TEST(ClusterSlots, KeysHaveTheSlotsThatServersGiveThem) {
  const struct {
    const char* key;
    std::uint16_t slot;  // CLUSTER KEYSLOT of Redis 7.0
  } cases[] = {
      {"123456789", 12739},
      {"", 0},
      {"foo", 12182},
      {"{user1000}.following", 3443},
      {"{user1000}.followers", 3443},
      {"foo{}{bar}", 8363},
      {"foo{{bar}}zap", 4015},
      {"foo{bar}{zap}", 5061},
      {"{bar", 4015},
  };
  for (const auto& c : cases) EXPECT_EQ(key_slot(c.key), c.slot) << c.key;
}

TEST(ClusterSlots, AMapIsReadWithItsReplicas) {
  const auto map = map_of("*3\r\n*4\r\n:0\r\n:5460\r\n" + node("10.0.0.1", 7001) + node("10.0.0.4", 7004) +
                          "*3\r\n:5461\r\n:16382\r\n" + node("10.0.0.2", 7002) +
                          "*3\r\n:16383\r\n:16383\r\n" + node("10.0.0.1", 7001));
  ASSERT_TRUE(map);
  EXPECT_THAT(map->masters, ElementsAre(Endpoint{"10.0.0.1", 7001}, Endpoint{"10.0.0.2", 7002}));
  EXPECT_THAT(map->ids, ElementsAre("id", "id"));
  EXPECT_THAT(map->replicas, ElementsAre(Endpoint{"10.0.0.4", 7004}));
  EXPECT_EQ(map->owner[0], 0);
  EXPECT_EQ(map->owner[5460], 0);
  EXPECT_EQ(map->owner[5461], 1);
  EXPECT_EQ(map->owner[16382], 1);
  EXPECT_EQ(map->owner[16383], 0);
}

TEST(ClusterSlots, ANodeWithoutANameIsTheOneThatWasAsked) {
  const auto empty = map_of("*1\r\n*3\r\n:0\r\n:9\r\n" + node("", 7001));
  ASSERT_TRUE(empty);
  EXPECT_THAT(empty->masters, ElementsAre(Endpoint{"10.0.0.9", 7001}));
  EXPECT_EQ(empty->owner[10], SlotMap::kNobody);
  const auto nothing = map_of("*1\r\n*3\r\n:0\r\n:9\r\n*3\r\n$-1\r\n:7001\r\n$2\r\nid\r\n");
  ASSERT_TRUE(nothing);
  EXPECT_THAT(nothing->masters, ElementsAre(Endpoint{"10.0.0.9", 7001}));
}

TEST(ClusterSlots, ANodeOfUnknownNameHasNoSlots) {
  const auto map =
      map_of("*2\r\n*3\r\n:0\r\n:9\r\n" + node("?", 7001) + "*3\r\n:10\r\n:19\r\n" + node("10.0.0.1", 7001));
  ASSERT_TRUE(map);
  EXPECT_EQ(map->owner[9], SlotMap::kNobody);
  EXPECT_EQ(map->owner[10], 0);
}

// Redis 7: a fourth field, an array of further information about the node.
TEST(ClusterSlots, WhatNewerServersAddIsSteppedOver) {
  const auto map = map_of(
      "*2\r\n*3\r\n:0\r\n:9\r\n*4\r\n$8\r\n10.0.0.1\r\n:7001\r\n$2\r\nid\r\n*2\r\n$8\r\nhostname\r\n$"
      "1\r\na\r\n"
      "*3\r\n:10\r\n:19\r\n*4\r\n$8\r\n10.0.0.2\r\n:7002\r\n$2\r\nid\r\n*0\r\n");
  ASSERT_TRUE(map);
  EXPECT_THAT(map->masters, ElementsAre(Endpoint{"10.0.0.1", 7001}, Endpoint{"10.0.0.2", 7002}));
}

TEST(ClusterSlots, WhatIsNoMapIsRefused) {
  const std::string cases[] = {
      "*0\r\n",  // a node that knows of nothing
      "+OK\r\n",
      ":1\r\n",
      "$-1\r\n",
      "*1\r\n:1\r\n",
      "*1\r\n*2\r\n:0\r\n:9\r\n",                      // slots without an owner, and nothing else
      "*1\r\n*3\r\n:9\r\n:0\r\n" + node("a", 1),       // backwards
      "*1\r\n*3\r\n:0\r\n:16384\r\n" + node("a", 1),   // one too many
      "*1\r\n*3\r\n:-1\r\n:9\r\n" + node("a", 1),      // one too few
      "*1\r\n*3\r\n:0\r\n:9\r\n" + node("a", 65'536),  // no such port
      "*1\r\n*3\r\n:0\r\n:9\r\n*3\r\n:1\r\n:7001\r\n$2\r\nid\r\n",  // a number for a host
      "*1\r\n*3\r\n:0\r\n:9\r\n*1\r\n$1\r\na\r\n",                  // no port
      "*1\r\n*3\r\n:0\r\n$1\r\n9\r\n" + node("a", 1),               // a string for a slot
      "*1\r\n*3\r\n:0\r\n:9\r\n$1\r\na\r\n",                        // a string for a node
  };
  for (const std::string& bytes : cases) EXPECT_FALSE(map_of(bytes)) << bytes;
}

TEST(ClusterSlots, TooManyNodesAreRefused) {
  std::string bytes = "*1001\r\n";
  for (int i = 0; i <= 1000; ++i)
    bytes += "*3\r\n:" + std::to_string(i) + "\r\n:" + std::to_string(i) + "\r\n" + node("a", i + 1);
  EXPECT_FALSE(map_of(bytes));
}

TEST(ClusterSlots, RedirectsAreRead) {
  const struct {
    const char* error;
    int slot;  // -1: it is none
    Endpoint to;
  } cases[] = {
      {"MOVED 3999 10.0.0.7:6381", 3999, {"10.0.0.7", 6381}},
      {"ASK 16383 cache-2.internal:6381", 16383, {"cache-2.internal", 6381}},
      {"MOVED 1 2001:db8::7:6381", 1, {"2001:db8::7", 6381}},
      {"MOVED 1 :6381", 1, {"10.0.0.9", 6381}},  // on the machine that was asked
      {"MOVED 1 ?:6381", -1, {}},
      {"MOVED 16384 10.0.0.7:6381", -1, {}},
      {"MOVED -1 10.0.0.7:6381", -1, {}},
      {"MOVED x 10.0.0.7:6381", -1, {}},
      {"MOVED 1 10.0.0.7:0", -1, {}},
      {"MOVED 1 10.0.0.7:65536", -1, {}},
      {"MOVED 1 10.0.0.7", -1, {}},
      {"MOVED 1 10.0.0.7:6381 now", -1, {}},
      {"MOVED 1", -1, {}},
      {"MOVED", -1, {}},
      {"MOVE 1 10.0.0.7:6381", -1, {}},
      {"", -1, {}},
  };
  for (const auto& c : cases) {
    const auto redirect = read_redirect(c.error, kAsked);
    ASSERT_EQ(redirect.has_value(), c.slot >= 0) << c.error;
    if (!redirect) continue;
    EXPECT_EQ(redirect->slot, c.slot) << c.error;
    EXPECT_EQ(redirect->to, c.to) << c.error;
  }
}

TEST(ClusterSlots, DamagedRepliesAreHarmless) {
  const std::string good = "*2\r\n*4\r\n:0\r\n:5460\r\n" + node("10.0.0.1", 7001) + node("10.0.0.4", 7004) +
                           "*3\r\n:5461\r\n:16383\r\n" + node("10.0.0.2", 7002);
  std::mt19937_64 random(11);
  int understood = 0;
  for (int i = 0; i < 20'000; ++i) {
    std::string bytes = good;
    for (int flips = 1 + static_cast<int>(random() % 3); flips > 0; --flips)
      bytes[random() % bytes.size()] = "*$:-0123456789\r\na"[random() % 18];
    const auto map = map_of(bytes);
    if (!map) continue;
    ++understood;
    ASSERT_EQ(map->owner.size(), kSlots);
    for (const std::uint16_t owner : map->owner)
      ASSERT_TRUE(owner == SlotMap::kNobody || owner < map->masters.size());
  }
  EXPECT_GT(understood, 100);
}

}  // namespace
}  // namespace sluice::redis

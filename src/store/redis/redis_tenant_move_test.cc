#include <gmock/gmock.h>

#include "store/redis/redis_store_fixture.h"
#include "store/redis/tenant_move.h"

namespace sluice {
namespace {

using State = TenantMove::State;

// A tenant moves between two real servers.
class RedisTenantMoveTest : public RedisStoreFixture {
 protected:
  static constexpr std::uint32_t kTenant = 77, kOther = 78;

  void SetUp() override {
    RedisStoreFixture::SetUp();
    if (HasFatalFailure()) return;
    from_.start();
    to_.start();
  }
  TenantMoveOptions move_options(std::uint32_t tag = kTenant) {
    TenantMoveOptions with{.source = {transport_, options(from_).connection}, .slot_tag = tag};
    with.target.emplace(TenantMoveOptions::End{transport_, options(to_).connection});
    with.losses_max = 1000;
    return with;
  }
  using Meanwhile = std::function<void(const TenantMove&)>;
  // Runs to its end; `meanwhile` is called all along.
  TenantMove::Progress run(TenantMoveOptions with, const Meanwhile& meanwhile = [](const TenantMove&) {}) {
    TenantMove move(std::move(with), clock_, [this](std::uint64_t below) {
      return std::uniform_int_distribution<std::uint64_t>(0, below - 1)(random_);
    });
    EXPECT_TRUE(run_until([&] {
      move.tick(clock_.now_us());
      meanwhile(move);
      return move.state() != State::kRunning;
    }));
    EXPECT_EQ(move.state(), State::kDone) << move.problem();
    return move.progress();
  }
  Charge charge(std::string_view counter, Algorithm algorithm, std::uint32_t tag, std::int64_t cost) {
    return {
        .key = key(counter), .params = limit(algorithm, 10, 86'400 * kSecond), .cost = cost, .slot_tag = tag};
  }
  std::int64_t charged(const Charge& charge) {
    TestCall call({charge});
    EXPECT_NE(finish(call).verdict, Verdict::kNoAnswer);
    return call.remaining();
  }
  // Counters of the tenant, made without asking for each.
  void fill(int count) {
    from_.ask(
        {"EVAL",
         "for i = 1, ARGV[1] do redis.call('SET', string.format('rl:{ABN}%022d', i), 'value ' .. i, 'PX', "
         "1000000 + i) end",
         "0", std::to_string(count)});
  }
  static std::string name(int number) {
    std::string digits = std::to_string(number);
    return "rl:{ABN}" + std::string(22 - digits.size(), '0') + digits;
  }
  static long keys(const TestRedisServer& server) { return std::atol(server.ask({"DBSIZE"}).c_str()); }

  TestRedisServer from_, to_;
};

constexpr Algorithm kAll[] = {Algorithm::kGcra,        Algorithm::kTokenBucket,   Algorithm::kLeakyBucket,
                              Algorithm::kFixedWindow, Algorithm::kSlidingWindow, Algorithm::kSlidingLog};

TEST_F(RedisTenantMoveTest, CountersAndRequestIdsGoOnElsewhere) {
  make_connected_store(options(from_));
  for (const Algorithm algorithm : kAll) {
    EXPECT_EQ(charged(charge(to_string(algorithm), algorithm, kTenant, 4)), 6);
    EXPECT_EQ(charged(charge(to_string(algorithm), algorithm, kOther, 1)), 9);
  }
  TestCall first({charge("with id", Algorithm::kGcra, kTenant, 3)});
  first.dedupe = Dedupe{key("request"), 9, 600 * kSecond, kTenant};
  finish(first);

  const TenantMove::Progress progress = run(move_options());
  EXPECT_EQ(progress.found, 8u);
  EXPECT_EQ(progress.moved, 8u);
  EXPECT_EQ(keys(from_), 6) << "the other tenant's";
  EXPECT_EQ(keys(to_), 8);
  for (const Algorithm algorithm : kAll)
    EXPECT_EQ(charged(charge(to_string(algorithm), algorithm, kOther, 1)), 8);

  make_connected_store(options(to_));
  for (const Algorithm algorithm : kAll)
    EXPECT_EQ(charged(charge(to_string(algorithm), algorithm, kTenant, 1)), 5) << to_string(algorithm);
  TestCall again({charge("with id", Algorithm::kGcra, kTenant, 3)});
  again.dedupe = first.dedupe;
  EXPECT_TRUE(finish(again).replayed);
  EXPECT_EQ(again.remaining(), first.remaining());
}

TEST_F(RedisTenantMoveTest, ManyKeysKeepTheirValuesAndTheirTime) {
  constexpr int kKeys = 5'000;
  fill(kKeys);
  from_.ask({"SET", "rl:{ABO}0000000000000000000001", "another tenant's"});
  const TenantMove::Progress progress = run(move_options());
  EXPECT_EQ(progress.moved, static_cast<std::uint64_t>(kKeys));
  EXPECT_EQ(keys(from_), 1);
  EXPECT_EQ(keys(to_), kKeys);
  for (const int i : {1, 2'500, kKeys}) {
    EXPECT_EQ(to_.ask({"GET", name(i)}), "value " + std::to_string(i));
    const int ttl_ms = std::atoi(to_.ask({"PTTL", name(i)}).c_str());
    EXPECT_GT(ttl_ms, 900'000);
    EXPECT_LE(ttl_ms, 1'000'000 + i);
  }
  EXPECT_EQ(run(move_options()).found, 0u) << "nothing is left to do";
}

TEST_F(RedisTenantMoveTest, WhatTheTargetCountsAlreadyStands) {
  fill(10);
  to_.ask({"SET", name(3), "newer"});
  EXPECT_EQ(run(move_options()).already_there, 1u);
  EXPECT_EQ(to_.ask({"GET", name(3)}), "newer");
  EXPECT_EQ(keys(to_), 10);
  EXPECT_EQ(keys(from_), 1);
}

TEST_F(RedisTenantMoveTest, AServerMovedToItselfLosesNothing) {
  fill(10);
  TenantMoveOptions to_itself = move_options();
  to_itself.target->connection = to_itself.source.connection;
  EXPECT_EQ(run(to_itself).already_there, 10u);
  EXPECT_EQ(keys(from_), 10);
}

TEST_F(RedisTenantMoveTest, APrefixIsNoPattern) {
  const std::string rest = "{ABN}0000000000000000000001", odd = "a*[bc]?\\";
  for (const std::string& prefix : {odd, std::string("axbx\\"), std::string("axxbxx\\")})
    from_.ask({"SET", prefix + rest, "value"});
  TenantMoveOptions with = move_options();
  with.source.key_prefix = odd;
  with.target->key_prefix = "there:";
  EXPECT_EQ(run(with).moved, 1u);
  EXPECT_EQ(to_.ask({"GET", "there:" + rest}), "value");
  EXPECT_EQ(keys(from_), 2);
}

TEST_F(RedisTenantMoveTest, ATenantCanBeForgotten) {
  fill(2'000);
  from_.ask({"SET", "rl:{ABO}0000000000000000000001", "another tenant's"});
  TenantMoveOptions forget = move_options();
  forget.target.reset();
  EXPECT_EQ(run(forget).moved, 2'000u);
  EXPECT_EQ(keys(from_), 1);
}

// Connections are killed again and again, at either end. Nothing is lost; only what was written while its
// answer was lost is at both ends.
TEST_F(RedisTenantMoveTest, SurvivesLostConnections) {
  constexpr int kKeys = 20'000;
  fill(kKeys);
  int kills = 0;
  const TenantMove::Progress progress = run(move_options(), [&](const TenantMove& move) {
    if (move.progress().found < static_cast<std::uint64_t>(kills * 500)) return;
    const TestRedisServer& victim = ++kills % 2 == 0 ? from_ : to_;
    victim.ask({"CLIENT", "KILL", "TYPE", "normal"});
  });
  EXPECT_GT(kills, 20);
  EXPECT_EQ(keys(to_), kKeys);
  for (int i = 1; i <= kKeys; i += 997) EXPECT_EQ(to_.ask({"GET", name(i)}), "value " + std::to_string(i));
  EXPECT_EQ(progress.failed, 0u);
  EXPECT_LE(keys(from_), static_cast<long>(progress.already_there));
}

}  // namespace
}  // namespace sluice

#include <gmock/gmock.h>

#include <deque>
#include <map>

#include "algorithm/testing/every_algorithm.h"
#include "store/redis/tenant_move/move_records.h"
#include "store/redis/tenant_move/tenant_move.h"
#include "store/redis/testing/redis_store_fixture.h"

namespace sluice {
namespace {

using State = TenantMove::State;
using Culprit = TenantMove::Culprit;
using Kind = TenantMoveOptions::Kind;

// A tenant moves between two real servers.
class RedisTenantMoveTest : public RedisStoreFixture {
 protected:
  static constexpr std::uint32_t kTenant = 77 | 1u << 18, kOther = 77 | 2u << 18, kNobody = 77;

  void SetUp() override {
    RedisStoreFixture::SetUp();
    if (HasFatalFailure()) return;
    from_.start();
    to_.start();
  }
  RedisBackendOptions heeding(const TestRedisServer& server) const {
    RedisBackendOptions with = options(server);
    with.heeds_moves = true;
    return with;
  }
  TenantMoveOptions::End end(const TestRedisServer& server, std::string cell) {
    return {transport_, options(server).connection, "rl:", std::move(cell)};
  }
  TenantMoveOptions carry() {
    TenantMoveOptions with{.source = end(from_, "old"), .slot_tag = kTenant, .tenant = "acme"};
    with.target.emplace(end(to_, "new"));
    with.losses_max = 1000;
    return with;
  }
  TenantMoveOptions of_kind(Kind kind, const TestRedisServer& server, std::string move_id = "") {
    return {.kind = kind,
            .source = end(server, "old"),
            .slot_tag = kTenant,
            .tenant = "acme",
            .move_id = std::move(move_id),
            .gone_to = "new"};
  }
  std::unique_ptr<TenantMove> make(TenantMoveOptions with) {
    return std::make_unique<TenantMove>(std::move(with), clock_, random());
  }
  using Meanwhile = std::function<void(const TenantMove&)>;
  // Runs to its end; `meanwhile` is called all the time.
  std::unique_ptr<TenantMove> run(
      TenantMoveOptions with, const Meanwhile& meanwhile = [](const TenantMove&) {}) {
    auto move = make(std::move(with));
    EXPECT_TRUE(run_until([&] {
      move->tick(clock_.now_us());
      meanwhile(*move);
      return move->state() != State::kRunning;
    }));
    return move;
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
  // Makes counters of the tenant, without a check for each.
  void fill(int count) {
    from_.ask(
        {"EVAL",
         "for i = 1, ARGV[1] do redis.call('SET', string.format('rl:{ABN}AB%020d', i), 'value ' .. i, 'PX', "
         "1000000 + i) end",
         "0", std::to_string(count)});
  }
  static std::string name(int number) {
    std::string digits = std::to_string(number);
    return "rl:{ABN}AB" + std::string(20 - digits.size(), '0') + digits;
  }
  static long keys(const TestRedisServer& server) { return std::atol(server.ask({"DBSIZE"}).c_str()); }
  static std::string state_at(const TestRedisServer& server) {
    const std::string record = server.ask({"HGET", "rl:moves", "ABNAB"});
    return record.substr(0, 1);
  }
  // As if ten seconds had passed since the mover's last step.
  static void expire_lease(const TestRedisServer& server) {
    std::string record = server.ask({"HGET", "rl:moves", "ABNAB"});
    if (record.size() > 47)
      server.ask({"HSET", "rl:moves", "ABNAB", record.replace(33, 14, "00000000000001")});
  }

  TestRedisServer from_, to_;
};

TEST_F(RedisTenantMoveTest, CountersAndRequestIdsGoOnElsewhere) {
  make_connected_store(heeding(from_));
  for (const Algorithm algorithm : kEveryAlgorithm) {
    EXPECT_EQ(charged(charge(to_string(algorithm), algorithm, kTenant, 4)), 6);
    EXPECT_EQ(charged(charge(to_string(algorithm), algorithm, kOther, 1)), 9);
    EXPECT_EQ(charged(charge(to_string(algorithm), algorithm, kNobody, 1)), 9);
  }
  TestCall first({charge("with id", Algorithm::kGcra, kTenant, 3)});
  first.dedupe = Dedupe{key("request"), 9, 600 * kSecond, kTenant};
  finish(first);

  const auto move = run(carry());
  EXPECT_EQ(move->state(), State::kDone) << move->problem();
  EXPECT_EQ(move->progress().found, 8u);
  EXPECT_EQ(move->progress().moved, 8u);
  EXPECT_EQ(keys(to_), 9) << "and the record that it lives there";
  EXPECT_EQ(state_at(to_), "o");
  EXPECT_EQ(state_at(from_), "x");
  EXPECT_EQ(run(of_kind(Kind::kForget, from_, move->move_id()))->progress().moved, 8u);
  EXPECT_EQ(keys(from_), 13) << "the other tenant's, nobody's, and the record";
  for (const std::uint32_t other : {kOther, kNobody})
    for (const Algorithm algorithm : kEveryAlgorithm)
      EXPECT_EQ(charged(charge(to_string(algorithm), algorithm, other, 1)), 8);

  make_connected_store(heeding(to_));
  for (const Algorithm algorithm : kEveryAlgorithm)
    EXPECT_EQ(charged(charge(to_string(algorithm), algorithm, kTenant, 1)), 5) << to_string(algorithm);
  TestCall again({charge("with id", Algorithm::kGcra, kTenant, 3)});
  again.dedupe = first.dedupe;
  EXPECT_TRUE(finish(again).replayed);
  EXPECT_EQ(again.remaining(), first.remaining());
}

TEST_F(RedisTenantMoveTest, WhoHasGoneIsRefusedAndOthersAreNot) {
  make_connected_store(heeding(from_));
  charged(charge("a", Algorithm::kGcra, kTenant, 4));
  ASSERT_EQ(run(carry())->state(), State::kDone);
  TestCall gone({charge("a", Algorithm::kGcra, kTenant, 1)}),
      anew({charge("b", Algorithm::kGcra, kTenant, 1)}), other({charge("o", Algorithm::kGcra, kOther, 1)}),
      both({charge("n", Algorithm::kGcra, kNobody, 1), charge("a", Algorithm::kGcra, kTenant, 1)}),
      by_id({charge("m", Algorithm::kGcra, kNobody, 1)});
  by_id.dedupe = Dedupe{key("request"), 9, 600 * kSecond, kTenant};
  store_->begin_burst();
  for (TestCall* call : {&gone, &anew, &other, &both, &by_id}) EXPECT_FALSE(store_->start(*call));
  store_->end_burst();
  EXPECT_TRUE(run_until([&] {
    return other.times_done + gone.times_done + anew.times_done + both.times_done + by_id.times_done == 5;
  }));
  EXPECT_TRUE(other.allowed());
  for (const TestCall* call : {&gone, &anew, &both, &by_id}) {
    EXPECT_EQ(call->verdict, Verdict::kNoAnswer);
    EXPECT_TRUE(call->moving);
  }
  EXPECT_THAT(store_->health().problems, testing::Contains(testing::HasSubstr("--cells of this server")));
  TestCall refund({charge("a", Algorithm::kGcra, kTenant, 1)});
  refund.refund_of_us = Grant::kAnyTime;
  EXPECT_TRUE(finish(refund).moving);
  TestCall look({charge("a", Algorithm::kGcra, kTenant, 0)});
  EXPECT_TRUE(finish(look).moving);

  ASSERT_EQ(run(of_kind(Kind::kSettle, from_))->state(), State::kDone);
  TestCall back({charge("a", Algorithm::kGcra, kTenant, 1)});
  EXPECT_EQ(finish(back).verdict, Verdict::kAllowed) << "it is to live here, whatever was";
}

TEST_F(RedisTenantMoveTest, ManyKeysKeepTheirValuesAndTheirTime) {
  constexpr int kKeys = 5'000;
  fill(kKeys);
  from_.ask({"SET", "rl:{ABN}AC00000000000000000001", "another tenant's"});
  const auto move = run(carry());
  EXPECT_EQ(move->progress().moved, static_cast<std::uint64_t>(kKeys));
  EXPECT_EQ(keys(to_), kKeys + 1);
  for (const int i : {1, 2'500, kKeys}) {
    EXPECT_EQ(to_.ask({"GET", name(i)}), "value " + std::to_string(i));
    const int ttl_ms = std::atoi(to_.ask({"PTTL", name(i)}).c_str());
    EXPECT_GT(ttl_ms, 900'000);
    EXPECT_LE(ttl_ms, 1'000'000 + i);
  }
  const auto again = run(carry());
  EXPECT_EQ(again->state(), State::kDone) << "it is there";
  EXPECT_EQ(again->culprit(), Culprit::kAnother);
  EXPECT_EQ(again->progress().found, 0u);
}

TEST_F(RedisTenantMoveTest, WhatIsLeftIsRemovedOnlyWhileTheTenantIsAway) {
  fill(2'000);
  from_.ask({"SET", "rl:{ABN}AC00000000000000000001", "another tenant's"});
  const auto there = run(carry());
  TenantMoveOptions back{.source = end(to_, "new"), .slot_tag = kTenant, .tenant = "acme"};
  back.target.emplace(end(from_, "old"));
  ASSERT_EQ(run(back)->state(), State::kDone);
  EXPECT_EQ(run(of_kind(Kind::kForget, from_, there->move_id()))->culprit(), Culprit::kAnother)
      << "it has come back";
  EXPECT_EQ(keys(from_), 2'002);
  EXPECT_EQ(run(of_kind(Kind::kForget, from_))->progress().moved, 2'000u)
      << "as for a tenant that starts anew";
  EXPECT_EQ(state_at(from_), "x") << "a node that has not heard of it is refused there";
  EXPECT_EQ(keys(from_), 2);
}

TEST_F(RedisTenantMoveTest, APrefixIsNoPattern) {
  const std::string rest = "{ABN}AB00000000000000000001", odd = "a*[bc]?\\";
  for (const std::string& prefix : {odd, std::string("axbx\\"), std::string("axxbxx\\")})
    from_.ask({"SET", prefix + rest, "value"});
  TenantMoveOptions with = carry();
  with.source.key_prefix = odd;
  with.target->key_prefix = "there:";
  EXPECT_EQ(run(with)->progress().moved, 1u);
  EXPECT_EQ(to_.ask({"GET", "there:" + rest}), "value");
}

// Connections are killed again and again, at either end. Nothing is lost.
TEST_F(RedisTenantMoveTest, SurvivesLostConnections) {
  constexpr int kKeys = 20'000;
  fill(kKeys);
  int kills = 0;
  const auto move = run(carry(), [&](const TenantMove& running) {
    if (kills == 25 || running.progress().found < static_cast<std::uint64_t>(kills * 500)) return;
    const TestRedisServer& victim = ++kills % 2 == 0 ? from_ : to_;
    victim.ask({"CLIENT", "KILL", "TYPE", "normal"});
  });
  EXPECT_EQ(move->state(), State::kDone) << move->problem();
  EXPECT_GT(kills, 20);
  EXPECT_EQ(keys(to_), kKeys + 1);
  for (int i = 1; i <= kKeys; i += 997) EXPECT_EQ(to_.ask({"GET", name(i)}), "value " + std::to_string(i));
}

TEST_F(RedisTenantMoveTest, ASecondMoverWaitsAndTheLateOneChangesNothing) {
  fill(3'000);
  const auto late = make(carry());
  EXPECT_TRUE(run_until([&] {
    late->tick(clock_.now_us());
    return late->progress().moved > 0;
  }));
  EXPECT_EQ(run(carry())->culprit(), Culprit::kAnother);
  expire_lease(from_);
  ASSERT_EQ(run(carry())->state(), State::kDone);
  to_.ask({"SET", name(1), "charged since"});
  EXPECT_TRUE(run_until([&] {
    late->tick(clock_.now_us());
    return late->state() != State::kRunning;
  }));
  EXPECT_EQ(late->culprit(), Culprit::kAnother);
  EXPECT_EQ(to_.ask({"GET", name(1)}), "charged since");
  EXPECT_EQ(keys(to_), 3'001);
}

TEST_F(RedisTenantMoveTest, WhoseMoverDiedIsFoundWhereItWasToArrive) {
  fill(3'000);
  {
    const auto dies = make(carry());
    EXPECT_TRUE(run_until([&] {
      dies->tick(clock_.now_us());
      return dies->progress().moved > 0;
    }));
  }
  MoveRecords there(end(to_, "new"), clock_, random()), here(end(from_, "old"), clock_, random());
  EXPECT_TRUE(run_until([&] {
    there.tick(clock_.now_us());
    here.tick(clock_.now_us());
    return there.records() && here.records();
  }));
  ASSERT_THAT(*there.records(), testing::SizeIs(1));
  ASSERT_THAT(*here.records(), testing::SizeIs(1));
  const MoveRecords::Record &arrives = there.records()->front(), &leaves = here.records()->front();
  EXPECT_EQ(arrives, (MoveRecords::Record{'a', "acme", "old", 1}));
  EXPECT_EQ(leaves, (MoveRecords::Record{'c', "acme", "new", 1}));
}

// Counters under a key secret that is not in force have a record without the tenant's name. While their mover
// was dead, that secret came into force, or another did.
TEST_F(RedisTenantMoveTest, TheNextMoverOfAFrozenTenantMayNameItOtherwise) {
  for (const bool is_named : {true, false}) {
    SCOPED_TRACE(is_named);
    for (const TestRedisServer* server : {&from_, &to_}) server->ask({"FLUSHALL"});
    fill(3'000);
    TenantMoveOptions first = carry(), next = carry();
    (is_named ? next : first).tenant = "";
    {
      const auto dies = make(std::move(first));
      EXPECT_TRUE(run_until([&] {
        if (state_at(from_) != "f") dies->tick(clock_.now_us());
        return state_at(from_) == "f";
      }));
    }
    expire_lease(from_);
    const auto done = run(std::move(next));
    EXPECT_EQ(done->state(), State::kDone) << done->problem();
    EXPECT_EQ(state_at(from_), "x");
    EXPECT_EQ(state_at(to_), "o");
    EXPECT_EQ(keys(to_), 3'001);
  }
}

// The old server goes back to a time before the move, when the new one is open. A mover that begins the same
// move again must not copy the old counters, and must not let them count.
TEST_F(RedisTenantMoveTest, ASourceThatGoesBackInTimeOverwritesNothing) {
  fill(100);
  ASSERT_EQ(run(of_kind(Kind::kSettle, from_))->number(), 1u) << "it lives here since move 1";
  ASSERT_EQ(run(carry())->number(), 2u);
  to_.ask({"SET", name(1), "used up since"});
  for (const char* restored : {"", "o", "c", "f"}) {
    if (*restored == '\0') {
      from_.ask({"DEL", "rl:moves"});
    } else {
      const std::string record = from_.ask({"HGET", "rl:moves", "ABNAB"});
      from_.ask({"HSET", "rl:moves", "ABNAB",
                 restored + std::string(*restored == 'o' ? "000000001" : "000000002") +
                     record.substr(10, 23) + "00000000000001new\nacme"});
    }
    const auto again = run(carry());
    EXPECT_EQ(again->state(), State::kDone) << restored;
    EXPECT_EQ(again->progress().moved, 0u) << restored;
    EXPECT_EQ(state_at(from_), "x") << restored;
    EXPECT_EQ(state_at(to_), "o") << restored;
    EXPECT_EQ(to_.ask({"GET", name(1)}), "used up since") << restored;
  }
}

TEST_F(RedisTenantMoveTest, ATargetThatGoesBackToTheArrivalGetsAllOnceMoreOrSaysThatItCannot) {
  fill(100);
  ASSERT_EQ(run(carry())->state(), State::kDone);
  const auto go_back = [&] {
    std::string record = to_.ask({"HGET", "rl:moves", "ABNAB"});
    to_.ask({"FLUSHALL"});
    to_.ask({"HSET", "rl:moves", "ABNAB", record.replace(0, 1, "a")});
  };
  go_back();
  const auto again = run(carry());
  EXPECT_EQ(again->state(), State::kDone) << again->problem();
  EXPECT_EQ(again->progress().moved, 100u);
  EXPECT_EQ(again->number(), 2u);
  EXPECT_EQ(state_at(to_), "o");
  ASSERT_EQ(run(of_kind(Kind::kForget, from_, again->move_id()))->state(), State::kDone);
  go_back();
  EXPECT_EQ(run(carry())->culprit(), Culprit::kForgotten);
  ASSERT_EQ(run(of_kind(Kind::kSettle, to_))->state(), State::kDone) << "the operator's word";
  EXPECT_EQ(state_at(to_), "o");
  EXPECT_EQ(run(carry())->culprit(), Culprit::kAnother);
}

// Before the target was open: the target gets what the source has, and the move completes.
TEST_F(RedisTenantMoveTest, ASourceThatGoesBackInTimeBeforeTheSwitchBeginsAgain) {
  fill(1'000);
  const auto late = make(carry());
  EXPECT_TRUE(run_until([&] {
    late->tick(clock_.now_us());
    return late->progress().moved > 0;
  }));
  from_.ask({"DEL", "rl:moves"});
  EXPECT_TRUE(run_until([&] {
    late->tick(clock_.now_us());
    return late->state() != State::kRunning;
  }));
  EXPECT_EQ(late->culprit(), Culprit::kAnother);
  const auto again = run(carry());
  EXPECT_EQ(again->state(), State::kDone) << again->problem();
  EXPECT_EQ(again->number(), 2u);
  EXPECT_EQ(keys(to_), 1'001);
  EXPECT_EQ(state_at(from_), "x");
}

// Two nodes check all the time, one at either end, while movers move the tenant, die at any step, and are
// followed by others. Whatever happens, no counter ever admits more than its limit.
TEST_F(RedisTenantMoveTest, NoUnitIsHadTwiceWhoeverDies) {
  const std::uint64_t seed = std::random_device()();
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937_64 rng(seed);
  constexpr int kCounters = 5;
  RedisStore at_target(transport_, clock_, params_, heeding(to_), random());
  RedisStore& at_source = make_connected_store(heeding(from_));
  EXPECT_TRUE(run_until([&] {
    at_target.tick(clock_.now_us());
    return at_target.health().connected;
  }));
  fill(3'000);  // other counters of the tenant
  std::map<std::pair<Algorithm, int>, int> admitted;
  std::deque<TestCall> calls;
  std::size_t waiting = 0, refused = 0;
  const auto check = [&](RedisStore& store) {
    const Algorithm algorithm = kEveryAlgorithm[rng() % std::size(kEveryAlgorithm)];
    const int counter = static_cast<int>(rng() % kCounters);
    const auto name = std::to_string(counter) + std::string(to_string(algorithm));
    TestCall& call = calls.emplace_back(
        std::vector{charge(name, algorithm, kTenant, 1), charge("all" + name, algorithm, kTenant, 1)});
    call.when_done = [&, algorithm, counter, at = &call] {
      --waiting;
      refused += at->moving;
      if (at->allowed()) ++admitted[{algorithm, counter}];
      EXPECT_TRUE(at->moving || at->verdict != Verdict::kNoAnswer);
    };
    ++waiting;
    if (store.start(call)) call.when_done();
  };
  bool carried = false;
  const auto all_along = [&] {
    at_target.tick(clock_.now_us());
    for (int i = 0; i < 2; ++i) {
      if (waiting < 50) check(at_source);
      // A node with the new settings does not check yet before the move has begun: see CellHomes.
      if (waiting < 50 && (carried || state_at(to_) == "a" || state_at(to_) == "o")) check(at_target);
    }
  };
  for (int i = 0; i < 100; ++i) all_along(), run_once();
  for (int deaths = 0; !carried; ++deaths) {
    auto move = make(carry());
    const int dies_after = deaths < 6 ? static_cast<int>(rng() % 60) : INT32_MAX;
    for (int steps = 0; steps < dies_after && move->state() == State::kRunning; ++steps) {
      move->tick(clock_.now_us());
      all_along();
      run_once();
    }
    carried = move->state() == State::kDone;
    expire_lease(from_);
  }
  for (int i = 0; i < 400; ++i) all_along(), run_once();
  EXPECT_TRUE(run_until([&] {
    at_target.tick(clock_.now_us());
    return waiting == 0;
  }));
  EXPECT_GT(refused, 0u);
  for (const auto& [which, count] : admitted)
    EXPECT_LE(count, 10) << to_string(which.first) << " " << which.second;
  EXPECT_EQ(admitted.size(), std::size(kEveryAlgorithm) * kCounters);
}

}  // namespace
}  // namespace sluice

// The modes of docs/accuracy.md in simulated time: an adversary has whatever failure it likes, when it likes,
// and takes all it can. Each test prints how near it came to the bound. A failure prints a seed;
// SLUICE_SEED=… replays it.
#include <algorithm>
#include <deque>
#include <memory>
#include <random>

#include "base/arith.h"
#include "base/limits/lease_limits.h"
#include "base/testing/bound_watch.h"
#include "base/testing/seed.h"
#include "engine/lease/lease_book.h"
#include "engine/testing/engine_fixture.h"

namespace sluice::testing {
namespace {

// The store that nodes share. While it fails, it answers nothing.
class FailingStore final : public Store {
 public:
  explicit FailingStore(Store& store) : store_(store) {}
  bool start(StoreCall& call) override {
    call.forget_answer();
    return fails || store_.start(call);
  }
  void reset(std::span<const CounterName>, std::function<void(int)> done) override { done(-1); }
  void tick(std::int64_t) override {}
  std::int64_t next_due_us() const override { return INT64_MAX; }
  Health health() const override { return {}; }

  bool fails = false;

 private:
  Store& store_;
};

// What a bucket promises in such a span: A(T) of docs/accuracy.md.
std::int64_t promised(const LimitParams& limit, std::int64_t us) {
  return limit.capacity + mul_add_floor_div(limit.rate.count, us, 0, limit.rate.period_us);
}

// What passed, and when.
class Passed {
 public:
  // `beyond`: what may pass beyond the limit in a span that begins with it.
  void add(std::int64_t at_us, std::int64_t units, std::int64_t beyond = 0) {
    if (units > 0) admitted_.push_back({at_us, units, beyond});
  }
  // In every span that ends with the latest.
  void check(BoundWatch& watch, const LimitParams& limit) const {
    for_each_span(limit, [&](std::int64_t sum, std::int64_t most, std::int64_t beyond) {
      watch.see(sum, most + beyond);
    });
  }
  // The same; shows what passed beyond the limit. `more`: what may pass beyond it in any span.
  void check_beyond(BoundWatch& watch, const LimitParams& limit, std::int64_t more = 0) const {
    for_each_span(limit, [&](std::int64_t sum, std::int64_t most, std::int64_t beyond) {
      watch.see(std::max<std::int64_t>(sum - most, 0), beyond + more);
    });
  }

 private:
  struct Admission {
    std::int64_t at_us, units, beyond;
  };
  template <class See>
  void for_each_span(const LimitParams& limit, See see) const {
    std::int64_t sum = 0;
    for (auto first = admitted_.rbegin(); first != admitted_.rend(); ++first)
      see(sum += first->units, promised(limit, admitted_.back().at_us - first->at_us), first->beyond);
  }
  std::vector<Admission> admitted_;
};

class AccuracyTest : public EngineFixture {
 protected:
  static constexpr int kLives = 30, kSteps = 60;

  std::int64_t below(std::int64_t n) {
    return static_cast<std::int64_t>(random_() % static_cast<std::uint64_t>(n));
  }
  bool one_in(std::int64_t n) { return below(n) == 0; }

  // A bucket of any size that is full again within seconds or hours.
  Policy any_policy(OnFailure rule) {
    const std::int64_t count = 1 + below(100);
    Policy policy = make_policy(
        "p", {make_limit({.rate = {count, one_in(2) ? kSecondUs : kHourUs}, .burst = 1 + below(2 * count)})});
    policy.on_failure = rule;
    return policy;
  }
  // From an instant to as long as the limit takes to fill.
  std::int64_t any_pause_us(const LimitParams& limit) {
    return one_in(2) ? 0 : one_in(2) ? below(limit.full_us / 5 + 2) : below(limit.full_us + 2);
  }

  // Takes all that there is, or some of it.
  std::int64_t take(Engine& from, std::int64_t room) {
    std::int64_t units = 0;
    for (const std::int64_t cost : {one_in(3) ? 1 + below(room) : room, std::int64_t{1}, std::int64_t{1}}) {
      const auto decision =
          from.check({.key = "k", .cost = cost}, []() -> Engine::Later { return [](const auto&) {}; });
      if ((*decision)->allowed) units += cost;
    }
    return units;
  }

  const std::uint64_t seed_ = test_seed();
  std::mt19937_64 random_{seed_};
};

// Nodes that share a store which each of them may lose at any time.
class FailingNodesTest : public AccuracyTest {
 protected:
  struct Node {
    Node(FailingNodesTest& test, Store& shared)
        : store(shared),
          local(test.clock, test.params, {}),
          engine({store, test.snapshots, test.hasher, test.clock, test.totals, &local}) {}
    FailingStore store;
    MemoryCounters local;
    Engine engine;
  };

  // Lives of a few nodes. `seen(node, units)` is told what passed through a node.
  template <class Seen>
  void live(const LimitParams& limit, std::int64_t room, std::deque<Node>& nodes, Seen seen) {
    for (int i = 0; i < kSteps && !HasFailure(); ++i) {
      clock.advance(any_pause_us(limit));
      if (one_in(8)) {  // all at once: the worst that can happen to it
        for (Node& node : nodes) node.store.fails = !node.store.fails;
      }
      Node& node = nodes[static_cast<std::size_t>(below(std::ssize(nodes)))];
      if (one_in(4)) node.store.fails = !node.store.fails;
      seen(node, take(node.engine, room));
    }
  }
};

TEST_F(FailingNodesTest, ClosedAdmitsNoMoreThanTheLimitWhateverFails) {
  BoundWatch watch("on_failure: closed, in any span", seed_);
  for (int i = 0; i < kLives && !HasFailure(); ++i) {
    const Policy policy = any_policy(OnFailure::kClosed);
    const LimitParams& limit = policy.limits[0].params;
    publish({policy});
    MemoryCounters shared(clock, params, {});
    MemoryStore shared_store(shared, clock);
    std::deque<Node> nodes;
    for (std::int64_t n = 1 + below(4); n > 0; --n) nodes.emplace_back(*this, shared_store);
    Passed passed;
    live(limit, limit.capacity, nodes, [&](Node&, std::int64_t units) {
      passed.add(clock.now_us(), units);
      passed.check(watch, limit);
    });
  }
  EXPECT_GT(watch.nearest(), 0.9);
}

// What was asked while the store failed is all that is beyond the limit: nothing is remembered wrongly.
TEST_F(FailingNodesTest, OpenAdmitsBeyondTheLimitWhatWasAskedOfNodesWithoutTheStore) {
  BoundWatch watch("on_failure: open, of nodes with the store, in any span", seed_);
  for (int i = 0; i < kLives && !HasFailure(); ++i) {
    const Policy policy = any_policy(OnFailure::kOpen);
    const LimitParams& limit = policy.limits[0].params;
    publish({policy});
    MemoryCounters shared(clock, params, {});
    MemoryStore shared_store(shared, clock);
    std::deque<Node> nodes;
    for (std::int64_t n = 1 + below(4); n > 0; --n) nodes.emplace_back(*this, shared_store);
    Passed passed;
    live(limit, limit.capacity, nodes, [&](Node& node, std::int64_t units) {
      if (node.store.fails) {
        EXPECT_GE(units, 3) << "all that was asked";
        return;
      }
      passed.add(clock.now_us(), units);
      passed.check(watch, limit);
    });
  }
  EXPECT_GT(watch.nearest(), 0.9);
}

// Every node that has lost the store adds the whole of its local limiter, and what that refills.
TEST_F(FailingNodesTest, LocalAdmitsBeyondTheLimitWhatTheLocalLimitersHold) {
  BoundWatch watch("on_failure: local, beyond the limit", seed_);
  for (int i = 0; i < kLives && !HasFailure(); ++i) {
    Policy policy = any_policy(OnFailure::kLocal);
    if (one_in(2)) policy.local = any_policy(OnFailure::kOpen).limits[0].params;
    const LimitParams& limit = policy.limits[0].params;
    const auto node_count = static_cast<int>(1 + below(4));
    const auto snapshot =
        Snapshot::compile({policy}, params, {.nodes = node_count}, snapshots.current().get());
    snapshots.publish(snapshot.value());
    const LimitParams local = *(*snapshot)->find("p")->limits[0].local->numbers;
    MemoryCounters shared(clock, params, {});
    MemoryStore shared_store(shared, clock);
    std::deque<Node> nodes;
    for (int n = 0; n < node_count; ++n) nodes.emplace_back(*this, shared_store);
    const std::int64_t start_us = clock.now_us();
    std::int64_t sum = 0;
    live(limit, std::max(limit.capacity, local.capacity), nodes, [&](Node&, std::int64_t units) {
      const std::int64_t passed_us = clock.now_us() - start_us;
      sum += units;
      const std::int64_t beyond = std::max<std::int64_t>(sum - promised(limit, passed_us), 0);
      watch.see(beyond, node_count * promised(local, passed_us));
    });
  }
  EXPECT_GT(watch.nearest(), 0.5);
}

// A process whose memory is the store, or a Redis without persistence: each restart forgets what is in use.
TEST_F(AccuracyTest, ARestartGivesNoMoreThanWhatWasInUseOnceMore) {
  BoundWatch watch("restarts of a store without persistence, beyond the limit", seed_);
  for (int i = 0; i < kLives && !HasFailure(); ++i) {
    const Policy policy = any_policy(OnFailure::kClosed);
    const LimitParams& limit = policy.limits[0].params;
    publish({policy});
    const std::int64_t start_us = clock.now_us();
    std::int64_t sum = 0, forgotten = 0;
    for (std::int64_t restarts = 1 + below(4); restarts >= 0; --restarts) {
      MemoryCounters fresh(clock, params, {});
      MemoryStore fresh_store(fresh, clock);
      Engine node({fresh_store, snapshots, hasher, clock, totals});
      for (std::int64_t steps = 1 + below(8); steps > 0; --steps) {
        sum += take(node, limit.capacity);
        const std::int64_t most = promised(limit, clock.now_us() - start_us);
        watch.see(std::max<std::int64_t>(sum - most, 0), forgotten);
        if (steps > 1) clock.advance(any_pause_us(limit));
      }
      forgotten += limit.capacity - node.usage({.key = "k"})->remaining();
    }
  }
  EXPECT_GT(watch.nearest(), 0.9);
}

// Holders that spend at the worst moment, and checks beside them.
class LeaseAccuracyTest : public AccuracyTest {
 protected:
  struct Held {
    Lease lease;
    std::int64_t left, expires_us;
  };

  void lease(std::int64_t want) {
    const std::string id = std::to_string(++requests_);
    const CheckRequest request{.key = "k", .cost = want, .request_id = id};
    const auto granted =
        *engine.lease(request, []() -> std::function<void(const Result<Lease>&)> { return {}; });
    ASSERT_TRUE(granted) << granted.error().message;
    if (granted->granted == 0) return;
    book_.add(*granted, LeaseClaim(request), "", clock.now_us());
    held_.push_back({*granted, granted->granted, clock.now_us() + granted->expires_after_ms * 1000});
  }
  // Returns how many units were spent.
  std::int64_t spend(Held& held, std::int64_t units) {
    if (clock.now_us() >= held.expires_us) return 0;
    units = std::min(units, held.left);
    held.left -= units;
    return units;
  }
  void give_back(Held& held) {
    const auto returned =
        *engine.return_lease(*engine.read_lease(held.lease.id), held.left,
                             []() -> std::function<void(const Result<void>&)> { return {}; });
    if (returned) book_.remove(held.lease.id);
    held.left = 0;
  }
  Held& any_held() { return held_[static_cast<std::size_t>(below(std::ssize(held_)))]; }
  std::int64_t outstanding() { return book_.units_outstanding(clock.now_us())["p"]; }
  // Often just before the oldest lease expires.
  std::int64_t pause_us(const LimitParams& limit) {
    if (!held_.empty() && one_in(3))
      return std::max<std::int64_t>(any_held().expires_us - clock.now_us() - 1, 0);
    return any_pause_us(limit);
  }

  std::vector<Held> held_;
  LeaseBook book_;
  int requests_ = 0;
};

TEST_F(LeaseAccuracyTest, HoldersSpendBeyondTheLimitNoMoreThanWasOutstanding) {
  BoundWatch watch("leases, beyond the limit in any span, of those outstanding at its start", seed_);
  for (int i = 0; i < kLives && !HasFailure(); ++i) {
    const Policy policy = any_policy(OnFailure::kClosed);
    const LimitParams& limit = policy.limits[0].params;
    publish({policy});
    clock.advance(400 * kDayUs);  // nothing is in use
    held_.clear();
    Passed passed;
    for (int step = 0; step < kSteps && !HasFailure(); ++step) {
      clock.advance(pause_us(limit));
      const std::int64_t before = outstanding();
      std::int64_t units = 0;
      if (one_in(3)) {
        lease(1 + below(2 * limit.capacity));
      } else if (!held_.empty() && one_in(2)) {
        for (Held& each : held_) units += spend(each, one_in(4) ? 1 : limit.capacity);
      } else {
        units = take(engine, limit.capacity);
      }
      passed.add(clock.now_us(), units, before);
      if (units > 0) passed.check_beyond(watch, limit);
    }
  }
  EXPECT_GT(watch.nearest(), 0.9);
}

// A return is a refund: what waited for it at one time may pass once more (docs/algorithms.md, Giving back).
TEST_F(LeaseAccuracyTest, WithReturnsNoMoreThanWasEverOutstandingAtOneTime) {
  BoundWatch watch("leases that are returned, beyond the limit, of the most that was outstanding", seed_);
  for (int i = 0; i < kLives && !HasFailure(); ++i) {
    const Policy policy = any_policy(OnFailure::kClosed);
    const LimitParams& limit = policy.limits[0].params;
    publish({policy});
    clock.advance(400 * kDayUs);
    held_.clear();
    Passed passed;
    std::int64_t most = 0;
    for (int step = 0; step < kSteps && !HasFailure(); ++step) {
      clock.advance(pause_us(limit));
      std::int64_t units = 0;
      if (one_in(3))
        lease(1 + below(2 * limit.capacity));
      else if (!held_.empty() && one_in(2))
        for (Held& each : held_) units += spend(each, 1 + below(limit.capacity));
      else if (!held_.empty() && one_in(2))
        give_back(any_held());
      else
        units = take(engine, limit.capacity);
      most = std::max(most, outstanding());
      passed.add(clock.now_us(), units);
      if (units > 0) passed.check_beyond(watch, limit, most);
    }
  }
}

}  // namespace
}  // namespace sluice::testing

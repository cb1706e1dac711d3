// An Engine reuses its calls, plans and explainers. Nothing of one check may leak into the next.
#include <array>
#include <memory>
#include <random>

#include "base/testing/seed.h"
#include "engine/testing/engine_fixture.h"
#include "engine/testing/late_store.h"

namespace sluice::testing {
namespace {

// Everything that a caller can read in it.
std::string shown(const Decision& decision) {
  std::string text = std::string(decision.allowed ? "allowed " : "denied ") +
                     std::string(to_string(decision.reason)) + (decision.degraded ? " degraded" : "") +
                     (decision.replayed ? " replayed" : "") + (decision.unknown_tier ? " tier?" : "") +
                     " cost " + std::to_string(decision.cost) + " at " + std::to_string(decision.now_us) +
                     " by " + (decision.policy ? decision.policy->source.id : "none");
  for (const LimitStatus& status : decision.limits) {
    const auto& [outcome, pressure, passed_over, denied_cost, one_unit_after_us, charged_at_us] =
        *status.result;
    text += &status == decision.tightest ? " *" : " ";
    text += status.policy->source.id + '.' + std::string(status.limit->name()) +
            (outcome.allowed ? " yes " : " no ") + std::to_string(outcome.remaining) + ' ' +
            std::to_string(outcome.retry_after_us) + ' ' + std::to_string(outcome.reset_after_us) + ' ' +
            std::string(to_string(pressure)) + ' ' + std::to_string(denied_cost) +
            (decision.reason == Reason::kStoreFull && passed_over ? " passed over" : "") +
            (decision.cost == 0 ? ' ' + std::to_string(one_unit_after_us) : "") +
            (charged_at_us != 0 ? " at " + std::to_string(charged_at_us) : "");
  }
  return text;
}
std::string shown(const Result<Decision>& answer) {
  return answer ? shown(*answer) : answer.error().field + ": " + answer.error().message;
}
std::string shown(const Result<JointDecision>& answer) {
  if (!answer) return answer.error().field + ": " + answer.error().message;
  std::string text = shown(answer->overall);
  for (const Decision& part : answer->parts) text += " | " + shown(part);
  return text;
}

// Its own counters, and a store that answers on command.
struct World {
  World(const Clock& clock, ParamsTable& params)
      : counters(clock, params, {}), fallback(clock, params, {}), store(counters, clock) {}
  MemoryCounters counters, fallback;
  MemoryStore store;
  LateStore late{store};
  DecisionTotals totals;
  std::vector<std::string> answers;
};

class ReuseTest : public EngineFixture {
 protected:
  enum class Kind : std::uint8_t { kCheck, kLook, kTogether, kLookTogether, kGiveBack };
  // How the pending calls end.
  enum class End : std::uint8_t { kAnswered, kFailed, kShed, kMoving };
  struct Question {
    Kind kind = Kind::kCheck;
    std::vector<CheckRequest> requests;
  };

  std::uint64_t below(std::uint64_t n) { return random_() % n; }

  static Limit limit(const char* name, const char* per, std::int64_t count, Algorithm algorithm) {
    return make_limit({.name = name, .per = {per}, .rate = {count, 60 * kSecondUs}, .algorithm = algorithm});
  }
  void SetUp() override {
    Policy a = make_policy("a", {limit("own", "key", 5, Algorithm::kGcra),
                                 limit("all", "resource", 20, Algorithm::kLeakyBucket)});
    a.resource = "/a";
    Policy b = make_policy("b", {limit("own", "key", 3, Algorithm::kSlidingLog)});
    b.resource = "/b";
    b.on_failure = OnFailure::kClosed;
    Policy only_shadow = make_policy("s", {limit("own", "key", 2, Algorithm::kFixedWindow)});
    only_shadow.resource = "/s";
    only_shadow.shadow = true;
    Policy beside = make_policy("t", {limit("own", "key", 4, Algorithm::kFixedWindow)});
    beside.resource = "/a";
    beside.shadow = beside.always = true;
    Policy local = make_policy("l", {limit("own", "key", 4, Algorithm::kGcra)});
    local.resource = "/l";
    local.on_failure = OnFailure::kLocal;
    publish({a, b, only_shadow, beside, local});
  }

  Question random_question() {
    static constexpr std::array kResources = {"/a", "/b", "/s", "/l", "/unknown"};
    static constexpr std::array kUsers = {"u", "v"};
    static constexpr std::array kIds = {"", "", "1", "2", "3"};
    static constexpr Dimension kTier{"tier", "nobody's"};
    Question question{.kind = static_cast<Kind>(below(2) == 0 ? 0 : below(5))};
    const bool is_single = question.kind <= Kind::kLook;
    for (std::uint64_t n = is_single ? 1 : 1 + below(3); n > 0; --n) {
      CheckRequest request{.resource = kResources[below(kResources.size())], .key = kUsers[below(2)]};
      if (below(3) == 0) request.cost = static_cast<std::int64_t>(below(4));
      if (question.kind == Kind::kLookTogether) request.cost = 0;
      if (is_single) request.request_id = kIds[below(kIds.size())];
      if (below(10) == 0) request.dimensions = {&kTier, 1};
      question.requests.push_back(request);
    }
    return question;
  }

  static void ask(Engine& engine, const Question& question, World& world) {
    const auto tell = [&world](const auto& answer) { world.answers.push_back(shown(answer)); };
    const auto postpone = [&] { return tell; };
    const auto at_once = [&](const auto& answer) {
      if (answer) tell(*answer);
    };
    switch (question.kind) {
      case Kind::kCheck:
        return at_once(engine.check(question.requests[0], postpone));
      case Kind::kLook:
        return at_once(engine.usage(question.requests[0], postpone));
      case Kind::kTogether:
        return at_once(engine.check_together(question.requests, postpone));
      case Kind::kLookTogether:
        return at_once(engine.usage_together(question.requests, postpone));
      case Kind::kGiveBack:
        return at_once(engine.give_back(question.requests, RefundReach::kEverything, postpone));
    }
  }

  static void end(LateStore& store, End end) {
    if (end == End::kAnswered) return store.answer_all();
    if (end == End::kShed) return store.shed_all();
    for (StoreCall* call : store.waiting) call->moving = end == End::kMoving;
    store.fail_all();
  }

  Engine::Parts parts(World& world) {
    return {.store = world.late,
            .policies = snapshots,
            .hasher = hasher,
            .clock = clock,
            .totals = world.totals,
            .local = &world.fallback};
  }

  const std::uint64_t seed_ = test_seed();
  std::mt19937_64 random_{seed_};
};

TEST_F(ReuseTest, WhoHasDecidedMuchDecidesAsWhoIsNew) {
  SCOPED_TRACE("SLUICE_SEED=" + std::to_string(seed_));
  World used_world(clock, params), new_world(clock, params);
  Engine used(parts(used_world));
  for (int round = 0; round < 1'000; ++round) {
    clock.advance(static_cast<std::int64_t>(below(5'000'000)));
    used_world.late.broken = new_world.late.broken = below(10) == 0;
    std::vector<std::unique_ptr<Engine>> fresh;
    std::string asked;
    for (std::uint64_t n = 1 + below(4); n > 0; --n) {
      const Question question = random_question();
      asked +=
          std::to_string(static_cast<int>(question.kind)) + std::string(question.requests[0].resource) + ' ';
      ask(used, question, used_world);
      ask(*fresh.emplace_back(std::make_unique<Engine>(parts(new_world))), question, new_world);
    }
    const End ends = below(2) == 0 ? End::kAnswered : static_cast<End>(below(4));
    end(used_world.late, ends);
    end(new_world.late, ends);
    ASSERT_EQ(used_world.answers, new_world.answers)
        << "round " << round << ": " << asked << ", end " << static_cast<int>(ends);
    used_world.answers.clear();
    new_world.answers.clear();
  }
  const auto sums = [](World& world) {
    std::vector<std::string> text;
    for (const auto& [policy, counts] : world.totals.sum().by_policy) {
      text.push_back(policy);
      for (const auto count : counts.fields) text.back() += ' ' + std::to_string(count);
    }
    return text;
  };
  EXPECT_EQ(sums(used_world), sums(new_world));
}

}  // namespace
}  // namespace sluice::testing

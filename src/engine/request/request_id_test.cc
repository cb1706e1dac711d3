// How request ids work for callers, with a store that answers at once or later.
#include "engine/testing/engine_fixture.h"
#include "engine/testing/late_store.h"

namespace sluice::testing {
namespace {

enum class Answers : std::uint8_t { kAtOnce, kLater };

class RequestIdTest : public EngineFixture, public ::testing::WithParamInterface<Answers> {
 protected:
  // What a caller would keep: the Decision itself is valid only during the call.
  struct Told {
    bool allowed = false, replayed = false;
    Reason reason = Reason::kOk;
    std::int64_t limit = 0, remaining = 0, retry_after_ms = 0, reset_unix_ms = 0, now_us = 0;
    std::string policy;
    std::optional<ErrorCode> error;
  };
  static Told told(const Result<Decision>& decision) {
    if (!decision) return {.error = decision.error().code};
    return {.allowed = decision->allowed,
            .replayed = decision->replayed,
            .reason = decision->reason,
            .limit = decision->limit(),
            .remaining = decision->remaining(),
            .retry_after_ms = decision->retry_after_ms(),
            .reset_unix_ms = decision->reset_unix_ms(),
            .now_us = decision->now_us,
            .policy = decision->policy ? decision->policy->version_text() : ""};
  }
  Told ask(const CheckRequest& request) {
    Told answer;
    const auto now = late_engine.check(request, [&answer] {
      return [&answer](const Result<Decision>& decision) { answer = told(decision); };
    });
    late.answer_all();
    return now ? told(*now) : answer;
  }
  // How the store would recognise the request; nullopt: not at all.
  std::optional<Dedupe> identity(const CheckRequest& request) {
    EXPECT_TRUE(late_engine.validate(request));
    return late_engine.identity(request);
  }
  std::int64_t left(std::string_view key) { return ask({.tenant = "t", .key = key, .cost = 0}).remaining; }

  // For the tenants that it names, or for all.
  static Policy policy_of(std::string id, std::string tenant, const LimitSpec& limit = {}) {
    Policy policy = make_policy(std::move(id), {make_limit(limit)});
    policy.tenant = std::move(tenant);
    return policy;
  }
  static Policy in_shadow(Policy policy) {
    policy.shadow = true;
    return policy;
  }

  LateStore late{store};
  Store& asked = GetParam() == Answers::kAtOnce ? static_cast<Store&>(store) : late;
  Engine late_engine{{asked, snapshots, hasher, clock, totals}};
};

INSTANTIATE_TEST_SUITE_P(Stores, RequestIdTest, ::testing::Values(Answers::kAtOnce, Answers::kLater),
                         [](const auto& answers) {
                           return answers.param == Answers::kAtOnce ? "at_once" : "later";
                         });

TEST_P(RequestIdTest, IsScopedByTenantAndPolicy) {
  publish({make_policy("p", {make_limit({})})});
  const Dimension ab[] = {{"a", "1"}, {"b", "2"}};
  const Dimension ba[] = {{"b", "2"}, {"a", "1"}};
  const CheckRequest request{.tenant = "t", .key = "u", .dimensions = ab, .request_id = "r1"};
  CheckRequest turned = request, of_another = request, another = request, costlier = request;
  turned.dimensions = ba;
  of_another.tenant = "other";
  another.request_id = "r2";
  costlier.cost = 2;
  const Dedupe first = identity(request).value();
  EXPECT_EQ(first.ttl_us, 600 * kSecondUs);
  EXPECT_EQ(identity(turned)->id, first.id);
  EXPECT_EQ(identity(turned)->fingerprint, first.fingerprint);
  EXPECT_NE(identity(of_another)->id, first.id);
  EXPECT_NE(identity(another)->id, first.id);
  EXPECT_EQ(identity(costlier)->id, first.id);
  EXPECT_NE(identity(costlier)->fingerprint, first.fingerprint);
}

// Doors differ in where they put these values.
TEST_P(RequestIdTest, AValueMayComeInItsFieldOrAsADimension) {
  publish({make_policy("p", {make_limit({.per = {"key", "tenant", "resource"}})})});
  const CheckRequest by_fields{.tenant = "t", .resource = "/r", .key = "u", .request_id = "r1"};
  const Dimension as_dimensions[] = {{"key", "u"}, {"tenant", "t"}, {"route", "/r"}, {"tier", ""}};
  const CheckRequest by_map{.dimensions = as_dimensions, .request_id = "r1"};
  EXPECT_EQ(identity(by_map)->id, identity(by_fields)->id);
  EXPECT_EQ(identity(by_map)->fingerprint, identity(by_fields)->fingerprint);
  const Dimension hidden[] = {{"key", "x"}};
  CheckRequest with_hidden = by_fields, of_another = by_fields;
  with_hidden.dimensions = hidden;
  EXPECT_EQ(identity(with_hidden)->fingerprint, identity(by_fields)->fingerprint) << "the field wins";
  of_another.key = "x";
  EXPECT_NE(identity(of_another)->fingerprint, identity(by_fields)->fingerprint);
}

// A tenant is only a name that callers choose, unless a policy names it, too.
TEST_P(RequestIdTest, BelongsToTheCallerAndToTenantsThatAreKnown) {
  publish({policy_of("known", "t"), policy_of("known, too", "t2"), policy_of("any", "")});
  const auto owner = [&](std::string_view caller, std::string_view tenant) {
    return identity({.tenant = tenant, .key = "u", .request_id = "r1", .caller = caller})->owner;
  };
  EXPECT_EQ(owner("a", "t").caller, owner("a", "invented").caller);
  EXPECT_NE(owner("a", "t").caller, owner("b", "t").caller);
  EXPECT_NE(owner("a", "t").known_tenant, owner("a", "t2").known_tenant);
  EXPECT_EQ(owner("a", "invented").known_tenant, owner("a", "invented, too").known_tenant);
  EXPECT_NE(owner("a", "t").known_tenant, owner("a", "invented").known_tenant);
  EXPECT_NE(owner("a", "invented").tenant, owner("a", "invented, too").tenant);
}

TEST_P(RequestIdTest, ARequestThatComesTwiceCountsOnce) {
  publish({make_policy("p", {make_limit({.rate = {10, kSecondUs}})})});
  const CheckRequest request{.tenant = "t", .key = "u", .cost = 3, .request_id = "r1"};
  EXPECT_EQ(ask(request).remaining, 7);
  ask({.tenant = "t", .key = "u"});
  const Told again = ask(request);
  EXPECT_TRUE(again.replayed);
  EXPECT_EQ(again.remaining, 7) << "the first answer";
  EXPECT_EQ(left("u"), 6);
  EXPECT_EQ(totals.sum().by_policy["p"].fields[DecisionCounters::kUnitsConsumed], 4u);
  EXPECT_EQ(ask({.tenant = "t", .key = "u", .cost = 4, .request_id = "r1"}).error,
            ErrorCode::kFailedPrecondition);
  EXPECT_EQ(left("u"), 6);
}

TEST_P(RequestIdTest, AShadowPolicyAloneRepeatsItselfToo) {
  publish({in_shadow(make_policy("p", {make_limit({.rate = {10, kSecondUs}})}))});
  const CheckRequest request{.tenant = "t", .key = "u", .cost = 3, .request_id = "r1"};
  const Told first = ask(request);
  EXPECT_FALSE(first.replayed);
  EXPECT_EQ(first.remaining, 7);
  clock.advance(200'000);
  const Told again = ask(request);
  EXPECT_TRUE(again.allowed && again.replayed);
  EXPECT_EQ(again.remaining, 7);
  EXPECT_EQ(again.now_us, first.now_us);
  CheckRequest other = request;
  other.cost = 4;
  EXPECT_EQ(ask(other).error, ErrorCode::kFailedPrecondition);
  EXPECT_NE(identity(request)->fingerprint, identity(other)->fingerprint) << "batches find it out, too";
  EXPECT_EQ(identity(request)->id, identity(other)->id);
}

// Both requests use the same object, and share nothing else.
TEST_P(RequestIdTest, NobodyIsToldWhatAnotherWasToldBefore) {
  publish({policy_of("p", "a"), in_shadow(policy_of("sh", "b"))});
  const CheckRequest request{.tenant = "a", .key = "u", .cost = 3, .request_id = "r1"};
  const CheckRequest of_another{.tenant = "b", .key = "u"};
  CheckRequest conflict = request;
  conflict.cost = 4;
  ask(request);
  EXPECT_EQ(ask(conflict).error, ErrorCode::kFailedPrecondition);
  EXPECT_TRUE(ask(of_another).allowed);
  EXPECT_TRUE(ask(request).replayed);
  clock.advance(100 * kSecondUs);
  const Told answer = ask(of_another);
  EXPECT_FALSE(answer.replayed);
  EXPECT_EQ(answer.now_us, clock.now_us());
  EXPECT_GT(answer.reset_unix_ms, clock.now_us() / 1000);
}

TEST_P(RequestIdTest, LooksHaveNone) {
  publish({make_policy("p", {make_limit({})})});
  const CheckRequest look{.tenant = "t", .key = "u", .cost = 0, .request_id = "r1"};
  EXPECT_FALSE(identity(look));
  EXPECT_EQ(ask(look).remaining, 10);
  ask({.tenant = "t", .key = "u", .cost = 4});
  const Told again = ask(look);
  EXPECT_FALSE(again.replayed);
  EXPECT_EQ(again.remaining, 6);
  EXPECT_FALSE(ask({.tenant = "t", .key = "u", .cost = 4, .request_id = "r1"}).replayed);
  EXPECT_EQ(ask(look).remaining, 2);
  EXPECT_EQ(store.request_log_stats().entries, 1u);
}

TEST_P(RequestIdTest, WhoWaitsAsToldIsAdmittedWithTheSameId) {
  publish({make_policy("p", {make_limit({.rate = {1, kSecondUs}})})});
  ask({.tenant = "t", .key = "u"});
  const CheckRequest request{.tenant = "t", .key = "u", .request_id = "r1"};
  clock.advance(400'000);
  EXPECT_EQ(ask(request).retry_after_ms, 600);
  clock.advance(200'000);
  const Told sooner = ask(request);
  EXPECT_FALSE(sooner.allowed || sooner.replayed);
  EXPECT_EQ(sooner.retry_after_ms, 400);
  clock.advance(400'000);
  EXPECT_TRUE(ask(request).allowed);
  const Told again = ask(request);
  EXPECT_TRUE(again.allowed && again.replayed);
}

TEST_P(RequestIdTest, ADenialThatIsChargedIsRepeated) {
  Limit counts = make_limit({.rate = {1, kSecondUs}, .algorithm = Algorithm::kFixedWindow});
  counts.count_denied = true;
  publish({make_policy("p", {counts})});
  ask({.tenant = "t", .key = "u"});
  const CheckRequest request{.tenant = "t", .key = "u", .request_id = "r1"};
  const Told first = ask(request);
  EXPECT_FALSE(first.allowed || first.replayed);
  clock.advance(kSecondUs);
  const Told again = ask(request);
  EXPECT_FALSE(again.allowed);
  EXPECT_TRUE(again.replayed);
  EXPECT_EQ(left("u"), 1);
}

// After a change only the verdict is known.
TEST_P(RequestIdTest, AReplayTellsNothingOfLimitsThatWereNotAsked) {
  const auto limits = [](std::int64_t count, std::string name = "burst") {
    return make_limit({.name = std::move(name), .rate = {count, kSecondUs}});
  };
  const std::vector<Policy> before{make_policy("p", {limits(10)})};
  const std::vector<std::vector<Policy>> changes{
      {make_policy("p", {limits(10), limits(5, "more")})},
      {make_policy("p", {limits(1000)})},
      {make_policy("p", {limits(10, "other name")})},
      {[&] {
        Policy newer = before[0];
        newer.version = 2;
        return newer;
      }()},
      {before[0],
       [&] {
         Policy always = in_shadow(make_policy("beside", {limits(20)}));
         always.always = true;
         return always;
       }()},
  };
  for (std::size_t i = 0; i < changes.size(); ++i) {
    SCOPED_TRACE(i);
    publish(before);
    const std::string key = "u" + std::to_string(i);
    const CheckRequest request{.tenant = "t", .key = key, .cost = 4, .request_id = key};
    const Told first = ask(request);
    EXPECT_EQ(first.policy, "p#1");
    publish(changes[i]);
    const Told again = ask(request);
    EXPECT_TRUE(again.allowed && again.replayed);
    EXPECT_EQ(again.reason, Reason::kOk);
    const bool is_same = i == 4;  // the limits beside it were not evaluated
    EXPECT_EQ(again.policy, is_same ? "p#1" : "");
    EXPECT_EQ(again.limit, is_same ? 10 : -1);
    EXPECT_EQ(again.remaining, is_same ? 6 : -1);
    EXPECT_EQ(again.reset_unix_ms, is_same ? first.reset_unix_ms : 0);
    publish(before);
    EXPECT_EQ(ask(request).remaining, 6) << "now it is known again";
  }
  EXPECT_EQ(totals.sum().by_policy["p"].fields[DecisionCounters::kAllowed], 3 * changes.size());
}

// A conflict in the record of a shadow policy must not affect the caller.
TEST_P(RequestIdTest, AShadowPolicyRefusesNobodyForItsRecord) {
  Policy cap = make_policy("cap", {make_limit({.rate = {5, kSecondUs}})});
  cap.always = true;
  publish({in_shadow(make_policy("p", {make_limit({})})), cap});
  ask({.tenant = "t", .key = "u", .cost = 5});
  EXPECT_FALSE(ask({.tenant = "t", .key = "u", .cost = 5, .request_id = "r1"}).allowed) << "by the cap";
  clock.advance(kSecondUs);
  const Told other = ask({.tenant = "t", .key = "u", .cost = 4, .request_id = "r1"});
  EXPECT_TRUE(other.allowed);
  EXPECT_EQ(other.reason, Reason::kOk);
  EXPECT_EQ(other.remaining, 1);
  EXPECT_EQ(totals.sum().by_policy["p"].fields[DecisionCounters::kShadowDenied], 0u);
}

}  // namespace
}  // namespace sluice::testing

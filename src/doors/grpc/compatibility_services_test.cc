// What all compatibility APIs have in common: malformed messages, tokens, overload, a store that answers
// later or not at all, the big red switch.
#include <memory>
#include <optional>

#include "doors/testing/doors_fixture.h"
#include "doors/testing/wire_fields.h"
#include "engine/testing/late_store.h"

namespace sluice::doors::testing {
namespace {

using net::GrpcCode;

enum class Kind { kCheck, kLook, kReset };

struct Method {
  std::string_view service, name;
  Kind kind;
  std::string message;  // about u1
  std::string_view answer_without_store = {};
};

const std::string kMr = Message().text(2, "u1").bytes, kAllow = Message().text(1, "u1").bytes,
                  kAllowN = Message().text(1, "u1").number(2, 1).bytes,
                  kQuota = Message().text(1, "u1").text(3, "/r").bytes;
const std::vector<Method> kMethods = {
    {"ratelimiter.v1.RateLimiterService", "ConsumeAndCheckLimit", Kind::kCheck, kMr, "1: 1\n3: -1\n"},
    {"ratelimiter.v1.RateLimiterService", "GetBucketStatus", Kind::kLook, kMr},
    {"sluice.compat.v1.Allow", "Allow", Kind::kCheck, kAllow, "1: 1\n2: -1\n3: -1\n"},
    {"sluice.compat.v1.Allow", "AllowN", Kind::kCheck, kAllowN, "1: 1\n2: -1\n3: -1\n"},
    {"sluice.compat.v1.Allow", "Reset", Kind::kReset, kAllow},
    {"sluice.compat.v1.Quota", "CheckRateLimit", Kind::kCheck, kQuota, "1: 1\n3: -1\n4: -1\n"},
    {"sluice.compat.v1.Quota", "GetRemainingQuota", Kind::kLook, kQuota},
    {"sluice.compat.v1.Quota", "ResetLimit", Kind::kReset, kQuota},
};

class SpecDoorsTest : public DoorsFixture {
 protected:
  void SetUp() override { publish({make_policy("default", {make_limit({.per = {"user"}})})}); }
  GrpcCode code_of(const Method& method, std::string_view message) {
    return call_service(method.service, method.name, message).status.code;
  }
  GrpcCode code_of(const Method& method) { return code_of(method, method.message); }
  // There are two counters.
  CheckRequest of_default() const { return {.policy_id = "default", .key = "u1"}; }
  CheckRequest of_built_in() const { return {.key = "u1", .own_policy = options.multi_rate_default.get()}; }
  std::int64_t charged() {
    const std::int64_t by_default = engine.usage(of_default())->current();
    return by_default + engine.usage(of_built_in())->current();
  }
  void forget() {
    ASSERT_TRUE(engine.reset(of_default()));
    ASSERT_TRUE(engine.reset(of_built_in()));
  }

  // One call on another application. The message is destroyed when this returns, as on the wire.
  struct Outcome {
    std::optional<net::GrpcStatus> status() const {  // nullopt: no answer yet
      if (!reply.is_answered()) return std::nullopt;
      return reply.answer().status;
    }
    std::string fields() const { return reply.is_answered() ? fields_of(reply.answer().message) : ""; }
    net::TestReply<net::GrpcResponse> reply;
  };
  std::shared_ptr<Outcome> start(App& other, const Method& method) {
    const auto outcome = std::make_shared<Outcome>();
    std::string bytes = method.message;
    const std::string path = "/" + std::string(method.service) + "/" + std::string(method.name);
    other.handle_unary({.path = path, .metadata = &metadata, .peer = &peer}, bytes, outcome->reply);
    bytes.assign(bytes.size(), 'x');
    return outcome;
  }
};

TEST_F(SpecDoorsTest, WhatIsNoMessageIsRefused) {
  for (const Method& method : kMethods) {
    for (const std::string_view bytes :
         {std::string_view("\xff"),
          std::string_view("\x0a\x05"
                           "ab"),
          std::string_view("\x0a\x01\xff", 3), std::string_view("\x12\x01\xff", 3),
          std::string_view("\x0b\x0a", 2), std::string_view("\x00\x00", 2)})
      EXPECT_EQ(code_of(method, bytes), GrpcCode::kInternal) << method.name;
  }
  EXPECT_EQ(charged(), 0);
}

TEST_F(SpecDoorsTest, HalfAMessageIsRefused) {
  for (const Method& method : kMethods)
    EXPECT_EQ(code_of(method, method.message.substr(0, method.message.size() - 1)), GrpcCode::kInternal)
        << method.name;
  EXPECT_EQ(charged(), 0);
}

TEST_F(SpecDoorsTest, FieldsThatNobodyKnowsAreIgnored) {
  for (const Method& method : kMethods)
    EXPECT_EQ(code_of(method, Message{method.message}.text(99, "x").number(100, 1).bytes), GrpcCode::kOk)
        << method.name;
}

TEST_F(SpecDoorsTest, TheMetadatasIdempotencyKeyIsChargedOnce) {
  for (const Method& method : kMethods) {
    if (method.kind != Kind::kCheck) continue;
    forget();
    idempotency_key = "key of " + std::string(method.name);
    const auto first = call_service(method.service, method.name, method.message);
    EXPECT_EQ(first.status.code, GrpcCode::kOk) << method.name;
    EXPECT_EQ(call_service(method.service, method.name, method.message).message, first.message);
    EXPECT_EQ(charged(), 1) << method.name;
    Message other{method.message};
    if (method.name == "Allow")
      other.text(1, "u2");
    else if (method.name == "AllowN")
      other.number(2, 2);
    else
      other.number(method.service == "sluice.compat.v1.Quota" ? 4 : 3, 2);
    const auto conflict = call_service(method.service, method.name, other.bytes).status;
    EXPECT_EQ(conflict.code, GrpcCode::kFailedPrecondition) << method.name;
    EXPECT_TRUE(conflict.message.starts_with("x-idempotency-key: x-idempotency-key was used for another"))
        << conflict.message;
    idempotency_key.assign(129, 'x');
    const auto too_long = call_service(method.service, method.name, method.message).status;
    EXPECT_EQ(too_long.code, GrpcCode::kInvalidArgument) << method.name;
    EXPECT_TRUE(too_long.message.starts_with("x-idempotency-key: x-idempotency-key is 129 bytes long"))
        << too_long.message;
    idempotency_key = "one of two";
    idempotency_keys = 2;
    const auto twice = call_service(method.service, method.name, method.message).status;
    EXPECT_EQ(twice.code, GrpcCode::kInvalidArgument) << method.name;
    EXPECT_TRUE(twice.message.starts_with("x-idempotency-key: ")) << twice.message;
    idempotency_keys = 1;
    EXPECT_EQ(charged(), 1) << method.name;
  }
}

TEST_F(SpecDoorsTest, ChecksNeedATokenWhereTheOperatorSaysSo) {
  peer.is_trusted = false;
  for (const Method& method : kMethods)
    EXPECT_EQ(code_of(method), method.kind == Kind::kReset ? GrpcCode::kUnauthenticated : GrpcCode::kOk)
        << method.name;
  const std::int64_t before = charged();
  options.checks_need_token = true;
  for (const Method& method : kMethods) EXPECT_EQ(code_of(method), GrpcCode::kUnauthenticated) << method.name;
  EXPECT_EQ(charged(), before);
}

TEST_F(SpecDoorsTest, WhatTheAuditLogCannotRecordIsNotReset) {
  options.can_record_reset = [] { return false; };
  for (const Method& method : kMethods)
    EXPECT_EQ(code_of(method), method.kind == Kind::kReset ? GrpcCode::kUnavailable : GrpcCode::kOk)
        << method.name;
  EXPECT_GT(charged(), 0);
}

TEST_F(SpecDoorsTest, StrangersUseUpNoRoomForChecks) {
  BigSwitch never;
  NodeCapacity one{1, clock, never};
  DoorOptions bounded = options;
  bounded.capacity = &one;
  bounded.checks_need_token = true;
  App narrow{engine, bounded, 1};
  for (const Method& method : kMethods) {
    clock.advance(kSecondUs);
    peer.is_trusted = false;
    for (int i = 0; i < 3; ++i)
      EXPECT_EQ(start(narrow, method)->status()->code, GrpcCode::kUnauthenticated) << method.name;
    peer.is_trusted = true;
    EXPECT_EQ(start(narrow, method)->status()->code, GrpcCode::kOk) << method.name;
  }
}

TEST_F(SpecDoorsTest, OverloadIsUnavailableForChecks) {
  BigSwitch never;
  NodeCapacity one{1, clock, never};
  for (const Method& method : kMethods) {
    DoorOptions bounded = options;
    bounded.capacity = &one;
    App narrow{engine, bounded, 1};
    clock.advance(kSecondUs);
    EXPECT_EQ(start(narrow, method)->status()->code, GrpcCode::kOk) << method.name;
    EXPECT_EQ(start(narrow, method)->status()->code,
              method.kind == Kind::kCheck ? GrpcCode::kUnavailable : GrpcCode::kOk)
        << method.name;
  }
}

TEST_F(SpecDoorsTest, AnswersThatComeLaterAreTheSame) {
  sluice::testing::LateStore late{store};
  Engine late_engine{{late, snapshots, hasher, clock, totals}};
  App late_app{late_engine, options, 1};
  std::vector<std::string> trace;
  options.on_reset = [&](const ResetReport& report) { trace.push_back(report.sentence()); };
  for (const Method& method : kMethods) {
    forget();
    const auto at_once = call_service(method.service, method.name, method.message);
    forget();
    trace.clear();
    const auto later = start(late_app, method);
    EXPECT_FALSE(later->status()) << method.name;
    late.answer_all();
    if (method.kind == Kind::kReset) {
      EXPECT_TRUE(trace.empty()) << "it is told when it is done";
      late.answer_resets(0);
      EXPECT_EQ(trace.size(), 1u);
    }
    ASSERT_TRUE(later->status()) << method.name;
    EXPECT_EQ(later->status()->code, GrpcCode::kOk) << method.name;
    EXPECT_EQ(later->fields(), fields_of(at_once.message)) << method.name;
  }
}

TEST_F(SpecDoorsTest, WithoutTheStoreTheFailureRuleDecides) {
  sluice::testing::LateStore late{store};
  Engine late_engine{{late, snapshots, hasher, clock, totals}};
  App late_app{late_engine, options, 1};
  for (const bool at_once : {true, false}) {
    late.broken = at_once;
    for (const Method& method : kMethods) {
      const auto answer = start(late_app, method);
      late.fail_all();
      if (method.kind == Kind::kReset) late.answer_resets(-1);
      ASSERT_TRUE(answer->status()) << method.name;
      EXPECT_EQ(answer->status()->code, method.kind == Kind::kCheck ? GrpcCode::kOk : GrpcCode::kUnavailable)
          << method.name;
      EXPECT_EQ(answer->fields(), method.answer_without_store) << method.name;
    }
  }
}

TEST_F(SpecDoorsTest, AClosedFailureDenies) {
  Policy closed =
      make_policy("default", {make_limit({.per = {"key"}, .algorithm = Algorithm::kLeakyBucket})});
  closed.on_failure = OnFailure::kClosed;
  closed.tenant = "default";
  publish({closed});
  SilentCounters silent;
  MemoryStore silent_store{silent, clock};
  Engine blind{{silent_store, snapshots, hasher, clock, totals}};
  App blind_app{blind, options, 1};
  for (const auto& [i, expected] :
       {std::pair{0u, "3: -1\n"}, {2u, "2: -1\n3: -1\n4: 1000\n"}, {3u, "2: -1\n3: -1\n4: 1000\n"}}) {
    const auto answer = start(blind_app, kMethods[i]);
    EXPECT_EQ(answer->status()->code, GrpcCode::kOk);
    EXPECT_EQ(answer->fields(), expected) << kMethods[i].name;
  }
}

TEST_F(SpecDoorsTest, TheOpenSwitchAllowsAndChargesNothing) {
  BigSwitch open;
  open.say(BigSwitch::Hand::kOperators,
           {.open = true, .at_us = kNowUs, .until_us = kNowUs + kSecondUs, .actor = "", .reason = ""},
           kNowUs);
  Engine switched{{.store = store,
                   .policies = snapshots,
                   .hasher = hasher,
                   .clock = clock,
                   .totals = totals,
                   .big_switch = &open}};
  App switched_app{switched, options, 1};
  for (const Method& method : kMethods) {
    if (method.kind != Kind::kCheck) continue;
    EXPECT_EQ(start(switched_app, method)->fields(), method.answer_without_store) << method.name;
  }
  EXPECT_EQ(charged(), 0);
}

}  // namespace
}  // namespace sluice::doors::testing

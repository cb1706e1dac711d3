#pragma once

#include <cassert>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "doors/app.h"
#include "doors/grpc/multi_rate_service.h"
#include "engine/record/decision_record.h"
#include "engine/testing/engine_fixture.h"
#include "net/grpc/protobuf_wire.h"
#include "net/testing/reply.h"

namespace sluice::doors::testing {

using sluice::testing::kNowUs;
using sluice::testing::LimitSpec;
using sluice::testing::make_limit;
using sluice::testing::make_policy;

// Counters that have gone silent.
class SilentCounters final : public Counters {
 public:
  Verdict apply(std::span<const Charge>, std::span<ChargeResult>, std::int64_t&) override {
    return Verdict::kNoAnswer;
  }
  Verdict refund(std::span<const Charge>, std::span<ChargeResult>, std::int64_t, std::int64_t&) override {
    return Verdict::kNoAnswer;
  }
  int reset(std::span<const KeyHash>) override { return -1; }
  Stats stats() const override { return {}; }
};

// Records what the application sends on a streaming call.
class RecordedStream final : public net::GrpcStream {
 public:
  void send(std::string_view message) override { sent.emplace_back(message); }
  bool has_room() const override { return !finished && sent.size() < room; }
  void finish(const net::GrpcStatus& status) override {
    EXPECT_FALSE(finished) << "a call ends once";
    finished = true;
    code = status.code;
  }

  std::vector<std::string> sent;
  std::size_t room = SIZE_MAX;  // for this many messages in total
  bool finished = false;
  net::GrpcCode code = net::GrpcCode::kOk;
};

// An admin API that answers every call later, and has /v1/rules.
class LateAdmin final : public AdminSeam {
 public:
  bool handles(std::string_view path) const override { return path.starts_with("/v1/rules"); }
  void handle(const net::HttpRequest&, net::HttpReply& reply) override { later = reply.later(); }
  void configure_policy(const GrpcCall& call) override { call.reply.later(); }
  std::unique_ptr<net::GrpcStreamHandler> list_policies(const net::GrpcContext&,
                                                        net::GrpcStream& stream) override {
    stream.finish({net::GrpcCode::kUnavailable, "later", {}});
    return nullptr;
  }
  void get_current_config(const GrpcCall& call) override { call.reply.later(); }
  bool when_recorded(std::function<void()>) override { return false; }
  Result<void> admit_reset(const control::Principal&) override { return {}; }
  bool admit_read(const control::Principal&, net::HttpResponse& response) override {
    if (reads_left-- > 0) return true;
    response.status = 429;
    return false;
  }
  void tick() override {}

  net::HttpReply::Later later;
  int reads_left = 0;
};

// All doors over a whole engine, on a clock that the test moves; no network.
//
// The policy "api" is 10/s with a burst of 10, per key.
class DoorsFixture : public sluice::testing::EngineFixture {
 protected:
  DoorsFixture() {
    options.given_limits = &given_limits;
    options.leases = &leases;
    options.hot_keys = &hot_keys;
    options.decisions = &decisions;
    options.node_name = "node-1";
    options.clock = &clock;
    options.multi_rate_default = make_multi_rate_default(snapshots, params);
    options.readiness = [this] { return readiness; };
    options.metrics = [] { return std::string("up 1\n"); };
  }
  void SetUp() override { publish({make_policy("api", {make_limit({})})}); }

  // The answer of an application that answers at once.
  static net::HttpResponse send_to(net::Application& to, const net::HttpRequest& request) {
    net::TestReply<net::HttpResponse> reply;
    to.handle_http(request, reply);
    return reply.answer();
  }
  static net::GrpcResponse send_to(net::Application& to, const net::GrpcContext& context,
                                   std::string_view message) {
    net::TestReply<net::GrpcResponse> reply;
    to.handle_unary(context, message, reply);
    return reply.answer();
  }

  net::HttpResponse send(const net::HttpRequest& request) { return send_to(app, request); }
  net::HttpResponse post(std::string_view path, std::string_view body) {
    return send({.method = "POST", .path = path, .body = body, .peer = &peer});
  }
  net::HttpResponse get(std::string_view path, std::string_view query = "") {
    return send({.method = "GET", .path = path, .query = query, .peer = &peer});
  }

  using GrpcAnswer = net::GrpcResponse;
  GrpcAnswer call(std::string_view method, std::string_view message) {
    return call_service("sluice.v1.RateLimiter", method, message);
  }
  GrpcAnswer call_service(std::string_view service, std::string_view method, std::string_view message) {
    const std::string path = "/" + std::string(service) + "/" + std::string(method);
    EXPECT_EQ(app.method_kind(path, peer), net::Application::MethodKind::kUnary);
    return send_to(app,
                   {.path = path,
                    .metadata = &metadata,
                    .peer = &peer,
                    .idempotency_key = idempotency_key,
                    .idempotency_keys = idempotency_keys},
                   message);
  }

  // What remains of the policy "api" for a key.
  std::int64_t left(std::string_view key) {
    return engine.usage({.policy_id = "api", .key = key})->remaining();
  }

  // An App takes these at once; the other options may be set later.
  static DoorOptions options_with(const control::KnownCallers& known_callers) {
    DoorOptions options;
    options.known_callers = &known_callers;
    return options;
  }

  Readiness readiness{.ready = true, .draining = false, .problems = {}};
  control::TokenRegistry tokens;
  net::HeaderList metadata;            // of gRPC calls
  std::string idempotency_key;         // of the metadata
  std::uint32_t idempotency_keys = 0;  // how many
  net::Peer peer{.address = "127.0.0.1", .port = net::Port::kAll, .is_trusted = true, .names = {}};
  control::IdentityRegistry identities;  // of client certificates
  control::KnownCallers known_callers{tokens, clock, &identities};
  GivenLimits given_limits{params};
  LeaseBook leases;
  DecisionRecord decisions{{.sample_one_in = 1}, hasher};
  LoopDecisions loop_decisions{decisions};
  DoorOptions options = options_with(known_callers);
  App app{engine, options, 1};
};

inline std::string header(const net::HttpResponse& response, std::string_view name) {
  std::string all;
  for (const auto& [known, value] : response.headers)
    if (known == name) all.append(all.empty() ? "" : " | ").append(value);
  return all;
}

}  // namespace sluice::doors::testing

// A token for one tenant gives no access to another tenant's counters, through any door and however the
// request names them.
#include <gmock/gmock.h>

#include <functional>
#include <map>
#include <set>

#include "doors/grpc/descriptor_index.h"
#include "doors/resp/redis_door.h"
#include "doors/testing/doors_fixture.h"
#include "doors/testing/envoy_fixture.h"
#include "doors/testing/wire_fields.h"

namespace sluice::doors::testing {
namespace {

// How a request names the tenant of its counters.
enum class Naming {
  kTenant,   // by its name
  kPolicy,   // by its policy alone
  kForeign,  // by its policy, as another tenant
};

constexpr const char* kRefused = "refused";  // 403 or PERMISSION_DENIED

// Doors whose requests name no tenant.
const std::vector<std::string> kOfNoTenant = {"/sluice.compat.v1.Quota/CheckRateLimit",
                                              "/sluice.compat.v1.Quota/GetRemainingQuota",
                                              "/sluice.compat.v1.Quota/ResetLimit"};

std::string text_of(const net::HttpResponse& response) {
  if (response.status == 403) return kRefused;
  if (response.status == 400 && response.body.contains("policy_id")) return "no such policy";
  return response.status == 200 ? "answered" : std::to_string(response.status) + response.body;
}

std::string text_of(const net::GrpcStatus& status) {
  if (status.code == net::GrpcCode::kPermissionDenied) return kRefused;
  if (status.code == net::GrpcCode::kNotFound) return "no such policy";
  return status.code == net::GrpcCode::kOk ? "answered" : status.message;
}

class TenantAccessTest : public DoorsFixture {
 protected:
  using Ask = std::function<std::string(const std::string& tenant, Naming naming)>;

  void SetUp() override {
    std::vector<Policy> policies;
    for (const std::string tenant : {"mine", "theirs"}) {
      Policy policy = make_policy(tenant + ".rule", {make_limit({.per = {"key", "tenant"}})});
      policy.tenant = tenant;
      policy.resource = "/r";
      policies.push_back(policy);
    }
    publish(policies);
    using control::Role;
    identities.replace({{"CN=mine", {{Role::kCheck, Role::kRead, Role::kOperator}, {"mine"}}}});
    options.checks_need_token = true;
    peer.is_trusted = false;
    peer.names = {"CN=mine"};
  }

  // tenant_id and resource, or policy_id, as the members of a JSON object.
  static std::string members(const std::string& tenant, Naming naming) {
    if (naming == Naming::kTenant) return R"("tenant_id":")" + tenant + R"(","resource":"/r","key":"u1")";
    const std::string as = naming == Naming::kForeign ? R"("tenant_id":"mine",)" : "";
    return as + R"("policy_id":")" + tenant + R"(.rule","key":"u1")";
  }
  static std::string query(const std::string& tenant, Naming naming) {
    if (naming == Naming::kTenant) return "tenant_id=" + tenant + "&resource=/r&key=u1";
    return (naming == Naming::kForeign ? "tenant_id=mine&" : "") + ("policy_id=" + tenant) + ".rule&key=u1";
  }
  // CheckRequest, or GetUsageRequest.
  static std::string native(const std::string& tenant, Naming naming, std::uint32_t tenant_field) {
    Message message;
    if (naming != Naming::kTenant) message.text(1, tenant + ".rule");
    message.text(2, Message().text(1, "key").text(2, "u1").bytes);
    if (naming != Naming::kPolicy) message.text(tenant_field, naming == Naming::kTenant ? tenant : "mine");
    return message.text(tenant_field + 1, "/r").bytes;
  }

  std::map<std::string, Ask> doors() {
    std::map<std::string, Ask> all;
    const auto posts = [&](std::string path, std::string before, std::string after) {
      all[path] = [this, path, before, after](const std::string& tenant, Naming naming) {
        return text_of(post(path, before + members(tenant, naming) + after));
      };
    };
    posts("/v1/ratelimit/check", "{", "}");
    posts("/v1/ratelimit/check-batch", R"({"checks":[{)", "}]}");
    posts("/v1/reset", "{", "}");
    for (const std::string path : {"/v1/authorize", "/v1/usage"})
      all[path] = [this, path](const std::string& tenant, Naming naming) {
        return text_of(get(path, query(tenant, naming)));
      };
    for (const std::string name : {"CheckAndIncrement", "CheckBatch", "GetUsage", "ResetKey"})
      all["/sluice.v1.RateLimiter/" + name] = [this, name](const std::string& tenant, Naming naming) {
        std::string message = native(tenant, naming, name.starts_with("Check") ? 5 : 3);
        if (name == "CheckBatch") message = Message().text(1, message).bytes;
        return text_of(call(name, message).status);
      };
    return all;
  }
  // Doors of APIs that have only one way to name a tenant.
  std::map<std::string, Ask> doors_of_others() {
    std::map<std::string, Ask> all;
    all["/envoy.service.ratelimit.v3.RateLimitService/ShouldRateLimit"] = [this](const std::string& tenant,
                                                                                 Naming) {
      const EnvoyMessage message{.domain = tenant, .descriptors = {{.entries = {{"key", "u1"}}}}};
      return text_of(
          call_service("envoy.service.ratelimit.v3.RateLimitService", "ShouldRateLimit", message.encoded())
              .status);
    };
    all["/json"] = [this](const std::string& tenant, Naming) {
      return text_of(post("/json", R"({"domain":")" + tenant +
                                       R"(","descriptors":[{"entries":[{"key":"key","value":"u1"}]}]})"));
    };
    for (const std::string name : {"ConsumeAndCheckLimit", "GetBucketStatus"})
      all["/ratelimiter.v1.RateLimiterService/" + name] = [this, name](const std::string& tenant, Naming) {
        return text_of(call_service("ratelimiter.v1.RateLimiterService", name,
                                    Message().text(1, tenant).text(2, "u1").bytes)
                           .status);
      };
    for (const std::string name : {"Allow", "AllowN", "Reset"})
      all["/sluice.compat.v1.Allow/" + name] = [this, name](const std::string& tenant, Naming) {
        return text_of(
            call_service("sluice.compat.v1.Allow", name,
                         Message().text(1, "u1").text(name == "AllowN" ? 3 : 2, tenant + ".rule").bytes)
                .status);
      };
    return all;
  }
  // What remains of each tenant's limit for u1.
  std::int64_t left_of(std::string_view tenant) {
    return limiter.usage({.tenant = tenant, .resource = "/r", .key = "u1"})->remaining();
  }
};

TEST_F(TenantAccessTest, OneTenantIsServedAndTheOtherIsNot) {
  limiter.check({.tenant = "theirs", .resource = "/r", .key = "u1", .cost = 5});
  for (const auto& [name, ask] : doors()) {
    EXPECT_EQ(ask("mine", Naming::kTenant), "answered") << name;
    EXPECT_EQ(ask("mine", Naming::kPolicy), "answered") << name;
    EXPECT_EQ(ask("theirs", Naming::kTenant), kRefused) << name;
    EXPECT_EQ(ask("theirs", Naming::kPolicy), kRefused) << name;
    EXPECT_EQ(ask("theirs", Naming::kForeign), "no such policy") << name;
  }
  for (const auto& [name, ask] : doors_of_others()) {
    EXPECT_EQ(ask("mine", Naming::kTenant), "answered") << name;
    EXPECT_EQ(ask("theirs", Naming::kTenant), kRefused) << name;
  }
  EXPECT_EQ(left_of("theirs"), 5);
}

TEST_F(TenantAccessTest, APolicyThatOnesOwnTenantNamesCountsForIt) {
  for (const std::string name :
       {"/v1/ratelimit/check", "/v1/authorize", "/sluice.v1.RateLimiter/CheckAndIncrement"}) {
    const std::int64_t before = left_of("mine");
    EXPECT_EQ(doors()[name]("mine", Naming::kPolicy), "answered");
    EXPECT_EQ(left_of("mine"), before - 1) << name;
  }
  EXPECT_EQ(doors_of_others()["/sluice.compat.v1.Allow/Allow"]("mine", Naming::kPolicy), "answered");
  EXPECT_EQ(left_of("mine"), 6);
}

TEST_F(TenantAccessTest, APolicyOfOthersIsRefusedInTheWordsForNone) {
  for (const std::string path : {"/v1/ratelimit/check", "/v1/reset"})
    EXPECT_EQ(post(path, R"({"policy_id":"theirs.rule","key":"u1"})").body,
              post(path, R"({"policy_id":"nobodys.rule","key":"u1"})").body);
  const auto message_of = [&](std::string_view id) {
    return call("GetUsage", Message().text(1, id).bytes).status.message;
  };
  EXPECT_EQ(message_of("theirs.rule"), message_of("nobodys.rule"));
}

TEST_F(TenantAccessTest, WhatBelongsToNoTenantIsForThoseWhoAreNotLimited) {
  const std::string quota = Message().text(1, "u1").text(3, "/r").bytes;
  for (const std::string& path : kOfNoTenant) {
    const std::string name = path.substr(path.rfind('/') + 1);
    EXPECT_EQ(text_of(call_service("sluice.compat.v1.Quota", name, quota).status), kRefused) << name;
  }
  ThrottleLimits throttle{snapshots, params};
  DoorContext context{limiter, options, 1};
  RedisDoor door{context, throttle, peer};
  const auto say = [&](std::vector<std::string_view> words) {
    std::string out;
    door.handle(words, out, [] { return net::RedisHandler::Later(); });
    return out;
  };
  EXPECT_TRUE(say({"CL.THROTTLE", "k", "1", "1", "60"}).starts_with("-NOPERM"));
  EXPECT_TRUE(say({"DEL", "k"}).starts_with("-NOPERM"));
  EXPECT_TRUE(say({"MULTI"}).starts_with("+OK"));
  say({"CL.THROTTLE", "k", "1", "1", "60"});
  EXPECT_THAT(say({"EXEC"}), ::testing::HasSubstr("-NOPERM"));
}

// All gRPC methods in the server's descriptors.
std::set<std::string> described_methods() {
  std::set<std::string> paths;
  net::WireReader files(embedded_descriptor_set());
  while (files.next()) {
    std::string package;
    net::WireReader file = files.message();
    while (file.next()) {
      if (file.field() == 2) package = file.string();
      if (file.field() != 6) continue;
      std::string service;
      net::WireReader parts = file.message();
      while (parts.next()) {
        if (parts.field() == 1) service = parts.string();
        if (parts.field() != 2) continue;
        net::WireReader method = parts.message();
        while (method.next())
          if (method.field() == 1)
            paths.insert("/" + package + "." + service + "/" + std::string(method.string()));
      }
    }
  }
  return paths;
}

// A new door must be added to one of these lists.
TEST_F(TenantAccessTest, NoDoorIsLeftOut) {
  LateAdmin admin;
  App whole{limiter, options, 1, &admin};
  std::set<std::string> served;
  for (const auto& [path, methods] : http_paths()) served.emplace(path);
  for (const std::string& path : described_methods())
    if (whole.method_kind(path, peer) != net::Application::MethodKind::kUnknown) served.insert(path);
  std::set<std::string> named(kOfNoTenant.begin(), kOfNoTenant.end());
  for (const auto& [path, ask] : doors()) named.insert(path);
  for (const auto& [path, ask] : doors_of_others()) named.insert(path);
  named.insert({"/healthz", "/readyz", "/healthcheck", "/metrics", "/openapi.yaml",
                "/grpc.health.v1.Health/Check", "/grpc.health.v1.Health/Watch",
                "/grpc.reflection.v1.ServerReflection/ServerReflectionInfo",
                "/grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo"});  // concern no counter
  named.insert({"/sluice.v1.RateLimiter/ConfigurePolicy", "/sluice.v1.RateLimiter/ListPolicies",
                "/ratelimiter.v1.RateLimiterService/GetCurrentConfig"});  // answered by the admin API
  EXPECT_EQ(named, served);
}

}  // namespace
}  // namespace sluice::doors::testing

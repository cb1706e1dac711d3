// Who may use which endpoint, and for which tenant: every row of the tables in endpoints.cc, and every
// command of the Redis protocol. A token for one tenant gives no access to another tenant's counters, however
// the request names them.
#include <gmock/gmock.h>

#include <set>

#include "doors/grpc/reflection/descriptor_index.h"
#include "doors/resp/redis_door.h"
#include "doors/testing/endpoint_requests.h"

namespace sluice::doors::testing {
namespace {

using control::Role;

constexpr const char* kRefused = "refused";  // 403 or PERMISSION_DENIED
constexpr const char* kStranger = "unknown caller";

std::string text_of(const net::HttpResponse& response) {
  if (response.status == 403) return kRefused;
  if (response.status == 401) return kStranger;
  if (response.status == 400 && response.body.contains("policy_id")) return "no such policy";
  if (response.status == 404 && response.body.contains("lease_id"))
    return "no such policy";  // nor a lease of it
  return response.status == 200 ? "answered" : std::to_string(response.status) + response.body;
}

std::string text_of(const net::GrpcStatus& status) {
  if (status.code == net::GrpcCode::kPermissionDenied) return kRefused;
  if (status.code == net::GrpcCode::kUnauthenticated) return kStranger;
  if (status.code == net::GrpcCode::kNotFound) return "no such policy";
  return status.code == net::GrpcCode::kOk ? "answered" : status.message;
}

bool asks_for_permit(Access access) {
  return access == Access::kCheck || access == Access::kRead || access == Access::kReadKeys ||
         access == Access::kOperator;
}

class TenantAccessTest : public DoorsFixture {
 protected:
  void SetUp() override {
    std::vector<Policy> policies;
    for (const std::string tenant : {"mine", "theirs"}) {
      Policy policy = make_policy(tenant + ".rule", {make_limit({.per = {"key", "tenant"}})});
      policy.tenant = tenant;
      policy.resource = "/r";
      policies.push_back(policy);
    }
    publish(policies);
    become({Role::kCheck, Role::kRead, Role::kOperator}, {"mine"});
    options.checks_need_token = true;
    peer.is_trusted = false;
    peer.names = {"CN=mine"};
    // Something to see, to reset and to lose.
    engine.check({.tenant = "theirs", .resource = "/r", .key = "u1", .cost = 5});
  }

  void become(std::vector<Role> roles, std::vector<std::string> tenants) {
    identities.replace({{"CN=mine", {std::move(roles), std::move(tenants)}}});
  }

  struct Row {
    std::string path;
    Access access;
  };
  // The endpoints of both tables that need a permit.
  static std::vector<Row> rows() {
    std::vector<Row> all;
    for (const HttpEndpoint& endpoint : http_endpoints())
      if (asks_for_permit(endpoint.access)) all.push_back({std::string(endpoint.path), endpoint.access});
    for (const GrpcMethod& method : grpc_methods())
      if (asks_for_permit(method.access)) all.push_back({std::string(method.path), method.access});
    return all;
  }

  std::string ask(const std::string& path, const Subject& about) {
    const EndpointRequest request = EndpointRequests::to(path, about);
    if (const HttpEndpoint* const endpoint = find_http_endpoint(path))
      return text_of(send({.method = endpoint->takes("POST") ? "POST" : "GET",
                           .path = path,
                           .query = request.query,
                           .body = request.body,
                           .peer = &peer}));
    const net::GrpcContext call{.path = path, .metadata = &metadata, .peer = &peer};
    return text_of(send_to(app, call, request.body).status);
  }

  // What remains of a tenant's limit for u1.
  std::int64_t left_of(std::string_view tenant) {
    return engine.usage({.tenant = tenant, .resource = "/r", .key = "u1"})->remaining();
  }
  // How many checks were decided so far.
  std::uint64_t decided() {
    const DecisionTotals::Sum sum = totals.sum();
    std::uint64_t all = sum.no_policy;
    for (const auto& [id, policy] : sum.by_policy)
      all += policy.fields[DecisionCounters::kAllowed] + policy.fields[DecisionCounters::kDenied];
    return all;
  }
};

TEST_F(TenantAccessTest, OnesOwnTenantIsServed) {
  for (const Row& row : rows()) {
    if (!EndpointRequests::can_be_answered(row.path)) continue;
    EXPECT_EQ(ask(row.path, {"mine"}), "answered") << row.path;
    EXPECT_EQ(ask(row.path, {"mine", Naming::kPolicy}), "answered") << row.path;
  }
}

TEST_F(TenantAccessTest, AnotherTenantIsRefusedAndNothingIsCharged) {
  const std::uint64_t before = decided();
  for (const Row& row : rows()) {
    EXPECT_EQ(ask(row.path, {"theirs"}), kRefused) << row.path;
    EXPECT_EQ(ask(row.path, {"theirs", Naming::kPolicy}), kRefused) << row.path;
    if (EndpointRequests::takes_any_naming(row.path))
      EXPECT_EQ(ask(row.path, {"theirs", Naming::kForeign}), "no such policy") << row.path;
    EXPECT_EQ(left_of("theirs"), 5) << row.path;
  }
  EXPECT_EQ(decided(), before) << "nothing was decided at all";
}

TEST_F(TenantAccessTest, TheRoleOfTheTableIsNeeded) {
  for (const Row& row : rows()) {
    const auto [needed, others] = [&]() -> std::pair<Role, std::vector<Role>> {
      if (row.access == Access::kCheck) return {Role::kCheck, {Role::kRead, Role::kWrite, Role::kOperator}};
      if (row.access == Access::kRead || row.access == Access::kReadKeys)
        return {Role::kRead, {Role::kCheck}};
      return {Role::kOperator, {Role::kCheck, Role::kRead, Role::kWrite}};
    }();
    become(others, {});
    EXPECT_EQ(ask(row.path, {"mine"}), kRefused) << row.path;
    if (!EndpointRequests::can_be_answered(row.path) && EndpointRequests::takes_tenant(row.path)) continue;
    become({needed}, {});
    EXPECT_EQ(ask(row.path, {"mine"}), "answered") << row.path;
    peer.names = {};
    EXPECT_EQ(ask(row.path, {"mine"}), kStranger) << row.path;
    options.checks_need_token = false;
    const bool is_always_needed = row.access == Access::kOperator || row.access == Access::kReadKeys;
    EXPECT_EQ(ask(row.path, {"mine"}), is_always_needed ? kStranger : "answered") << row.path;
    options.checks_need_token = true;
    peer.names = {"CN=mine"};
  }
}

TEST_F(TenantAccessTest, APolicyThatOnesOwnTenantNamesCountsForIt) {
  for (const std::string path :
       {"/v1/ratelimit/check", "/v1/authorize", "/sluice.v1.RateLimiter/CheckAndIncrement",
        "/sluice.compat.v1.Allow/Allow"}) {
    const std::int64_t before = left_of("mine");
    EXPECT_EQ(ask(path, {"mine", Naming::kPolicy}), "answered");
    EXPECT_EQ(left_of("mine"), before - 1) << path;
  }
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

// Keys of the Redis protocol belong to no tenant, so they are for those who are not limited to some.
TEST_F(TenantAccessTest, CommandsOfTheRedisProtocol) {
  ThrottleLimits throttle{snapshots, params};
  DoorContext context{engine, options, 1};
  const auto say = [&](RedisDoor& door, std::vector<std::string_view> words) {
    net::TestReply<std::string> reply;
    door.handle(words, reply);
    return reply.answer();
  };
  const std::uint64_t before = decided();
  RedisDoor door{context, throttle, peer};
  EXPECT_TRUE(say(door, {"CL.THROTTLE", "k", "1", "1", "60"}).starts_with("-NOPERM"));
  EXPECT_TRUE(say(door, {"DEL", "k"}).starts_with("-NOPERM"));
  EXPECT_TRUE(say(door, {"MULTI"}).starts_with("+OK"));
  say(door, {"CL.THROTTLE", "k", "1", "1", "60"});
  EXPECT_THAT(say(door, {"EXEC"}), ::testing::HasSubstr("-NOPERM"));
  EXPECT_EQ(decided(), before);

  become({Role::kCheck}, {});
  EXPECT_TRUE(say(door, {"CL.THROTTLE", "k", "1", "1", "60"}).starts_with("*5"));
  EXPECT_TRUE(say(door, {"DEL", "k"}).starts_with("-NOPERM"));
  become({Role::kOperator}, {});
  EXPECT_TRUE(say(door, {"CL.THROTTLE", "k", "1", "1", "60"}).starts_with("-NOPERM"));
  EXPECT_TRUE(say(door, {"DEL", "k"}).starts_with(":1"));
  peer.names = {};
  RedisDoor stranger{context, throttle, peer};
  for (const auto& words : std::vector<std::vector<std::string_view>>{{"CL.THROTTLE", "k", "1", "1", "60"},
                                                                      {"DEL", "k"},
                                                                      {"PING"},
                                                                      {"MULTI"},
                                                                      {"INFO"},
                                                                      {"CLIENT", "ID"}})
    EXPECT_TRUE(say(stranger, words).starts_with("-NOAUTH")) << words[0];
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

TEST_F(TenantAccessTest, EveryDescribedMethodIsInTheTable) {
  std::set<std::string> served;
  for (const GrpcMethod& method : grpc_methods()) served.emplace(method.path);
  const std::set<std::string> described = described_methods();
  for (const std::string& path : served) EXPECT_TRUE(described.contains(path)) << path;
  for (const std::string& path : described)
    if (path.starts_with("/sluice.") || path.starts_with("/ratelimiter."))
      EXPECT_TRUE(served.contains(path)) << path;
}

}  // namespace
}  // namespace sluice::doors::testing

#pragma once

#include <cassert>
#include <string>
#include <string_view>

#include "doors/endpoints.h"
#include "doors/testing/doors_fixture.h"
#include "doors/testing/envoy_fixture.h"
#include "doors/testing/wire_fields.h"

namespace sluice::doors::testing {

// How a request names the tenant of its counters.
enum class Naming {
  kTenant,   // by its name
  kPolicy,   // by its policy alone
  kForeign,  // by its policy, as another tenant
};

// Whose counter a request is about: the tenant's policy is "<tenant>.rule", for the resource "/r".
struct Subject {
  std::string tenant;
  Naming naming = Naming::kTenant;
  std::string key = "u1";
};

// A request to one endpoint. For gRPC, `body` is the message.
struct EndpointRequest {
  std::string query;
  std::string body;
};

// Requests to every endpoint that asks for a permit, HTTP or gRPC. Fails for an endpoint that it does not
// know: a new one needs its row here, and thereby takes part in the tests of access.
class EndpointRequests {
 public:
  // Whether requests to this endpoint can name a tenant's counters in every way.
  static bool takes_any_naming(std::string_view path) {
    return (path.starts_with("/v1/") && path != "/v1/leases" && path != "/v1/hotkeys" &&
            path != "/v1/decisions" && path != "/v1/nodes") ||
           path.starts_with("/sluice.v1.");
  }
  // Whether a request of one's own can be answered. Else it is about something that does not exist.
  static bool can_be_answered(std::string_view path) {
    return takes_tenant(path) && path != "/v1/lease/return" && !path.ends_with("/ReturnLease");
  }
  // Whether the answer repeats what was asked, in a lease's id.
  static bool is_lease(std::string_view path) { return path == "/v1/lease" || path.ends_with("/Lease"); }
  // Whether they can name a tenant at all.
  static bool takes_tenant(std::string_view path) { return !path.starts_with("/sluice.compat.v1.Quota/"); }

  static EndpointRequest to(std::string_view path, const Subject& about) {
    if (path == "/v1/ratelimit/check" || path == "/v1/reset") return {"", "{" + members(about) + "}"};
    if (path == "/v1/ratelimit/check-batch") return {"", R"({"checks":[{)" + members(about) + "}]}"};
    if (path == "/v1/lease")
      return {"", R"({"want":1,"request_id":")" + request_id(about) + R"(",)" + members(about) + "}"};
    if (path == "/v1/lease/return") return {"", R"({"unused":1,"lease_id":")" + lease_id(about) + R"("})"};
    if (path == "/v1/leases" || path == "/v1/hotkeys" || path == "/v1/decisions" || path == "/v1/nodes")
      return {without_key(query(about)), ""};
    if (path == "/v1/authorize" || path == "/v1/usage") return {query(about), ""};
    if (path == "/json")
      return {"", R"({"domain":")" + about.tenant + R"(","descriptors":[{"entries":[{"key":"key","value":")" +
                      about.key + R"("}]}]})"};
    return {"", message(path, about)};
  }

 private:
  // tenant_id and resource, or policy_id, as the members of a JSON object.
  static std::string members(const Subject& about) {
    const std::string key = R"("key":")" + about.key + '"';
    if (about.naming == Naming::kTenant)
      return R"("tenant_id":")" + about.tenant + R"(","resource":"/r",)" + key;
    const std::string as = about.naming == Naming::kForeign ? R"("tenant_id":"mine",)" : "";
    return as + R"("policy_id":")" + about.tenant + R"(.rule",)" + key;
  }
  static std::string query(const Subject& about) {
    const std::string key = "&key=" + about.key;
    if (about.naming == Naming::kTenant) return "tenant_id=" + about.tenant + "&resource=/r" + key;
    const std::string as = about.naming == Naming::kForeign ? "tenant_id=mine&" : "";
    return as + "policy_id=" + about.tenant + ".rule" + key;
  }
  static std::string without_key(std::string query) {
    std::string tenant_or_policy = query.substr(0, query.find("&key="));
    if (const auto resource = tenant_or_policy.find("&resource="); resource != std::string::npos)
      tenant_or_policy.resize(resource);
    return tenant_or_policy;
  }
  // A request that names its subject in another way is another request.
  static std::string request_id(const Subject& about) {
    return about.key + "-" + std::to_string(static_cast<int>(about.naming));
  }
  static std::string lease_id(const Subject& about) {
    LeaseClaim claim;
    if (about.naming != Naming::kTenant) claim.policy_id = about.tenant + ".rule";
    if (about.naming != Naming::kPolicy)
      claim.tenant = about.naming == Naming::kTenant ? about.tenant : "mine";
    claim.resource = "/r";
    claim.key = about.key;
    claim.request_id = "1";
    claim.want = claim.granted = 1;
    claim.granted_at_us = kNowUs;
    return to_lease_id(claim, KeyHasher::from_text("test"));
  }
  // CheckRequest, or GetUsageRequest.
  static std::string native(const Subject& about, std::uint32_t tenant_field) {
    Message text;
    if (about.naming != Naming::kTenant) text.text(1, about.tenant + ".rule");
    text.text(2, Message().text(1, "key").text(2, about.key).bytes);
    if (about.naming != Naming::kPolicy)
      text.text(tenant_field, about.naming == Naming::kTenant ? about.tenant : "mine");
    return text.text(tenant_field + 1, "/r").bytes;
  }
  static std::string message(std::string_view path, const Subject& about) {
    const std::string_view method = path.substr(path.rfind('/') + 1);
    const std::string_view service = path.substr(1, path.rfind('/') - 1);
    if (service == "sluice.v1.RateLimiter") {
      if (method == "CheckAndIncrement") return native(about, 5);
      if (method == "Lease")
        return Message().number(3, 1).text(4, "grpc-" + request_id(about)).bytes + native(about, 5);
      if (method == "ReturnLease") return Message().text(1, lease_id(about)).number(2, 1).bytes;
      if (method == "CheckBatch") return Message().text(1, native(about, 5)).bytes;
      if (method == "GetUsage" || method == "ResetKey") return native(about, 3);
    }
    if (service == "sluice.compat.v1.Allow")
      return Message().text(1, about.key).text(method == "AllowN" ? 3 : 2, about.tenant + ".rule").bytes;
    if (service == "sluice.compat.v1.Quota") return Message().text(1, about.key).text(3, "/r").bytes;
    if (service == "ratelimiter.v1.RateLimiterService")
      return Message().text(1, about.tenant).text(2, about.key).bytes;
    if (service == "envoy.service.ratelimit.v3.RateLimitService")
      return EnvoyMessage{.domain = about.tenant, .descriptors = {{.entries = {{"key", about.key}}}}}
          .encoded();
    ADD_FAILURE() << "no request to " << path << " is known; add a row for it";
    return "";
  }
};

}  // namespace sluice::doors::testing

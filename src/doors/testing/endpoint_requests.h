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
    return path.starts_with("/v1/") || path.starts_with("/sluice.v1.");
  }
  // Whether they can name a tenant at all.
  static bool takes_tenant(std::string_view path) { return !path.starts_with("/sluice.compat.v1.Quota/"); }

  static EndpointRequest to(std::string_view path, const Subject& about) {
    if (path == "/v1/ratelimit/check" || path == "/v1/reset") return {"", "{" + members(about) + "}"};
    if (path == "/v1/ratelimit/check-batch") return {"", R"({"checks":[{)" + members(about) + "}]}"};
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

#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "control/access/access.h"
#include "doors/check_list.h"
#include "doors/envoy/envoy_answer.h"
#include "doors/envoy/envoy_request.h"
#include "doors/http/address_set.h"
#include "doors/http/check_json.h"
#include "doors/http/deprecation.h"
#include "doors/http/rate_limit_headers.h"
#include "doors/reset_report.h"
#include "engine/admission/load_gate.h"
#include "engine/limiter.h"
#include "engine/request/given_limits.h"

namespace sluice::doors {

// Whether the node wants traffic, and problems that an operator should know about in either case.
struct Readiness {
  bool ready = false;  // false before the first policies and while draining
  bool draining = false;
  // The store is slow or silent, so failure rules decide some of the checks.
  bool degraded = false;
  std::vector<std::string> problems;  // sentences
};

// Who may give hits back through the Envoy door. A refund is a small reset: it removes hits that others have
// counted.
enum class Refunds : std::uint8_t {
  kOperator,  // callers who may reset counters here
  kCheck,     // callers who may charge them
  kNobody,
};

// The operator's settings. Shared by all threads; must outlive the doors; its functions must be thread-safe.
struct DoorOptions {
  HeaderDialects dialects;
  // For answers to Envoy, which can make the X- headers itself.
  HeaderDialects envoy_dialects{.ietf = true, .triple = false, .x = HeaderDialects::X::kNone};
  std::string default_tenant;  // for checks without a tenant; empty: none
  int deny_status = 429;       // of denials by /v1/authorize
  // The X-Forwarded-* and X-Sluice-* headers of these are trusted.
  AddressSet trusted_proxies = AddressSet::loopback();
  // /v1/authorize uses X-Idempotency-Key from trusted proxies as the request_id. Proxies pass on what clients
  // send, and a client that always sends the same key would be charged only once. So set this only if the
  // proxy sets or clears the header.
  bool trusts_idempotency_key = false;
  const control::Access* access = nullptr;  // identifies callers; never null in a server
  bool checks_need_token = false;           // a token with the role "check"
  // The admin API has its own port. Then the doors on other ports, such as Redis and Envoy, reset nothing.
  bool admins_have_a_port = false;
  Refunds refunds = Refunds::kOperator;
  std::shared_ptr<const Deprecations> deprecations;  // null: none
  std::function<Readiness()> readiness;
  std::function<std::string()> metrics;  // Prometheus text
  bool metrics_name_policies = false;    // for every caller
  // Called with each reset of counters, for the audit log. May be empty.
  std::function<void(const ResetReport& report)> on_reset;
  // Whether the audit log has room for one more record. If not, nothing is reset. Empty: always.
  std::function<bool()> can_record_reset;
  NodeCapacity* capacity = nullptr;     // limit on checks; null: none
  GivenLimits* given_limits = nullptr;  // limits that come with requests; never null in a server
  // The multi-rate API's policy for keys that no entry matches; never null in a server.
  std::shared_ptr<const CompiledPolicy> multi_rate_default;
};

// Scratch space for one call of the Envoy door; reused, so that it allocates nothing once warm.
struct EnvoyScratch {
  EnvoyRequest request;
  std::vector<EnvoySlot> slots;  // one per descriptor
  std::string resources;         // texts of all descriptors
  std::vector<CheckRequest> checks;
  std::vector<CheckRequest> refunds;  // checks whose hits are given back
  EnvoyAnswer answer;
};

// What all doors of one thread share: the engine, the options and scratch space. Not thread-safe.
struct DoorContext {
  DoorContext(Limiter& engine, const DoorOptions& door_options, std::uint64_t seed)
      : limiter(engine),
        options(door_options),
        gate(door_options.capacity),
        headers(door_options.dialects, seed),
        envoy_headers(door_options.envoy_dialects, seed) {
    if (options.access) access.emplace(*options.access);
  }

  CheckRules check_rules() const { return {.has_default_tenant = limiter.has_default_tenant()}; }

  Limiter& limiter;
  const DoorOptions& options;
  std::optional<control::AccessReader> access;  // of options.access
  // As AdminSeam::when_recorded(). Empty: there is nothing to wait for.
  std::function<bool(std::function<void()> then)> when_recorded;
  LoadGate gate;
  RateLimitHeaders headers, envoy_headers;
  CheckList checks;
  std::string scratch;                      // unescaped or decoded text; the checks point into it
  std::deque<std::string> implied_tenants;  // the checks point into it
  std::string caller;                       // likewise
  EnvoyScratch envoy;
};

}  // namespace sluice::doors

#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "control/access.h"
#include "doors/address_set.h"
#include "doors/check_json.h"
#include "doors/check_list.h"
#include "doors/deprecation.h"
#include "doors/envoy_answer.h"
#include "doors/envoy_request.h"
#include "doors/rate_limit_headers.h"
#include "doors/reset_report.h"
#include "engine/given_limits.h"
#include "engine/limiter.h"
#include "engine/load_gate.h"

namespace sluice::doors {

// Whether the node wants traffic, and what an operator should know either way.
struct Readiness {
  bool ready = false;  // false before the first policies and while draining
  bool draining = false;
  bool degraded = false;              // the store is slow or silent: failure rules decide some of the checks
  std::vector<std::string> problems;  // sentences
};

// Who may give hits back through the Envoy door. A refund is a small reset: it takes what others have
// counted.
enum class Refunds : std::uint8_t {
  kOperator,  // who may reset counters here
  kCheck,     // who may charge them
  kNobody,
};

// What the operator chose. One for all threads; must outlive the doors; its functions must be thread-safe.
struct DoorOptions {
  HeaderDialects dialects;
  // Of answers to Envoy, which can make the X- headers itself.
  HeaderDialects envoy_dialects{.ietf = true, .triple = false, .x = HeaderDialects::X::kNone};
  std::string default_tenant;                           // of checks that have none; empty: none
  int deny_status = 429;                                // of /v1/authorize
  AddressSet trusted_proxies = AddressSet::loopback();  // whose X-Forwarded-* and X-Sluice-* are believed
  // Of /v1/authorize: X-Idempotency-Key from trusted proxies is the request_id. Proxies pass on what clients
  // send, and who sends one key for ever is charged once; so only where the proxy sets or clears it.
  bool trusts_idempotency_key = false;
  const control::Access* access = nullptr;  // who callers are; never null in a server
  bool checks_need_token = false;           // with the role "check"
  bool admins_have_a_port = false;          // so that the doors on another, Redis' and Envoy's, reset nothing
  Refunds refunds = Refunds::kOperator;
  std::shared_ptr<const Deprecations> deprecations;  // null: none
  std::function<Readiness()> readiness;
  std::function<std::string()> metrics;  // Prometheus text
  bool metrics_name_policies = false;    // to everybody
  // Hears of counters that were reset, for the record. May be empty.
  std::function<void(const ResetReport& report)> on_reset;
  // Whether the record has room for one more; without, nothing is reset. Empty: it has.
  std::function<bool()> can_record_reset;
  NodeCapacity* capacity = nullptr;     // of checks; null: no bound
  GivenLimits* given_limits = nullptr;  // that come with requests; never null in a server
  // Of the multi-rate API, where no entry counts; never null in a server.
  std::shared_ptr<const CompiledPolicy> mr_default;
};

// What one call of the Envoy door needs; reused, so that it allocates nothing once warm.
struct EnvoyScratch {
  EnvoyRequest request;
  std::vector<EnvoySlot> slots;  // one for each descriptor
  std::string resources;         // of all descriptors
  std::vector<CheckRequest> checks;
  std::vector<CheckRequest> refunds;  // what is given back instead
  EnvoyAnswer answer;
};

// What all doors of one thread share: the engine, the options and scratch space. Not thread-safe.
struct DoorContext {
  DoorContext(Limiter& engine, const DoorOptions& door_options, std::uint64_t seed)
      : limiter(engine),
        options(door_options),
        gate(door_options.capacity),
        headers(door_options.dialects, seed),
        envoy_headers(door_options.envoy_dialects, seed) {}

  CheckRules check_rules() const { return {.has_default_tenant = limiter.has_default_tenant()}; }

  Limiter& limiter;
  const DoorOptions& options;
  // As AdminSeam::when_recorded(). Empty: nothing can be waited for.
  std::function<bool(std::function<void()> then)> when_recorded;
  LoadGate gate;
  RateLimitHeaders headers, envoy_headers;
  CheckList checks;
  std::string scratch;                      // unescaped or decoded text that the checks point into
  std::deque<std::string> implied_tenants;  // that the checks point to
  std::string caller;                       // the same
  EnvoyScratch envoy;
};

}  // namespace sluice::doors

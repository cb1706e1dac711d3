#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "control/access/authenticator.h"
#include "doors/access/reset_report.h"
#include "doors/http/headers/deprecation.h"
#include "doors/http/headers/rate_limit_headers.h"
#include "doors/http/origin/address_set.h"
#include "engine/admission/load_gate.h"
#include "engine/hot/hot_keys.h"
#include "engine/lease/lease_book.h"
#include "engine/request/given_limits.h"

namespace sluice {
class DecisionRecord;  // engine/record/decision_record.h
}

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
  const control::KnownCallers* known_callers = nullptr;  // identifies callers; never null in a server
  bool checks_need_token = false;                        // a token with the role "check"
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
  NodeCapacity* capacity = nullptr;           // limit on checks; null: none
  LeaseBook* leases = nullptr;                // those that this node has granted; never null in a server
  const HotKeys* hot_keys = nullptr;          // never null in a server
  const DecisionRecord* decisions = nullptr;  // never null in a server
  std::string node_name;                      // of this node, in answers about several
  const Clock* clock = nullptr;               // for the leases and hot keys; never null in a server
  GivenLimits* given_limits = nullptr;        // limits that come with requests; never null in a server
  // The multi-rate API's policy for keys that no entry matches; never null in a server.
  std::shared_ptr<const CompiledPolicy> multi_rate_default;
};

}  // namespace sluice::doors

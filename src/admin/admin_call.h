#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "control/access/principal.h"
#include "control/ledger_follower.h"
#include "control/rollout/rollout_controller.h"
#include "document/document_tree.h"
#include "net/http/http_api.h"
#include "policy/snapshot/catalog.h"

namespace sluice::admin {

class SelfLimits;

// A call of the admin API: everything that its handlers need, as values, because it moves from a loop's
// thread to the control plane's.
struct AdminCall {
  std::string method;
  std::vector<std::string> path;  // decoded: /api/v1/rules/a%2Fb is {"api", "v1", "rules", "a/b"}
  std::map<std::string, std::string> query;
  std::string body;
  std::size_t bytes = 0;        // for which the caller was charged
  std::string if_match;         // as sent; empty: none
  std::string if_none_match;    // the same
  std::string idempotency_key;  // empty: none
  std::string reason;           // the caller's reason for the change: the header X-Reason
  control::Principal principal;

  // Copies the request. kInvalidArgument: the path or the query is malformed.
  static Result<AdminCall> from(const net::HttpRequest& request, control::Principal principal);

  std::string_view parameter(std::string_view name) const;  // from the query; empty: not given
  // A number from `least` to `most`; `otherwise` if it is not given.
  Result<std::int64_t> number(std::string_view name, std::int64_t least, std::int64_t most,
                              std::int64_t otherwise) const;
  // kInvalidArgument: the key is too long, or the reason is, which the caller knows as `reason_field`.
  Result<void> check_bounds(std::string_view reason_field) const;
  // The version in If-Match: "47" or W/"47"; 0, which is before the first version, for If-None-Match: *; none
  // if neither header names a version.
  Result<std::optional<std::int64_t>> expected_version() const;
};

struct AdminAnswer {
  int status = 200;
  DocumentNode body;         // null: none
  std::int64_t version = 0;  // not 0: becomes the ETag
  std::string location = {};
};

inline AdminAnswer no_content() {
  AdminAnswer answer;
  answer.status = 204;
  return answer;
}

// What handlers work with. Lives on the control plane's thread, for one call.
struct AdminContext {
  control::LedgerFollower& follower;
  PolicyCatalog& catalog;
  const Clock& clock;
  control::RolloutController& rollouts;
  // Every change of a policy in force goes through these stages; null: changes are in force at once.
  const std::vector<control::RolloutStage>* staged = nullptr;
  SelfLimits* self_limits = nullptr;  // null: changes are not charged

  // Writes the drafts in the caller's name, with their reason and idempotency key, if `may` allows it at that
  // moment. kOverloaded: see SelfLimits::charge_stored().
  Result<std::vector<ledger::Record>> write(const AdminCall& call, std::vector<ledger::Draft> drafts,
                                            const control::LedgerFollower::Permission& may = {});
};

// The error for a key that was already used with another payload.
Error key_of_another_change(const AdminCall& call);

using AdminHandlerFunction = Result<AdminAnswer>(AdminContext& context, const AdminCall& call);

// For which tenants a caller must have the role of a route.
enum class Reach : std::uint8_t {
  kAnyTenant,   // for some; the handler shows only what the caller may see
  kAllTenants,  // for all: what is shown or changed is not a tenant's
  kItsTenant,   // for that of what is named; the handler asks, since only it can tell
};

// A route of the API: {"GET", "/v1/rules", Role::kRead, Reach::kAnyTenant, list_rules}. `*` stands for one
// segment of the path.
struct AdminRoute {
  std::string_view method;
  std::string_view path;
  control::Role role;
  Reach reach;
  AdminHandlerFunction* handler;
};

// The answer, or the error as problem+json.
net::HttpResponse to_response(const Result<AdminAnswer>& answer);

// Finds the handler, calls it if the caller has the role, and turns its answer into HTTP. A path without a
// route is 404 or 405.
net::HttpResponse answer_admin_call(std::span<const AdminRoute> routes, AdminContext& context,
                                    const AdminCall& call);

}  // namespace sluice::admin

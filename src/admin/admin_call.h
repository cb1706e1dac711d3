#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "control/principal.h"
#include "control/registry.h"
#include "control/rollout_pilot.h"
#include "net/http_api.h"
#include "policy/catalog.h"
#include "policy/document_tree.h"

namespace sluice::admin {

// A call of the admin API with everything that its handlers look at, as values: it goes from a loop's thread
// to the control plane's.
struct AdminCall {
  std::string method;
  std::vector<std::string> path;  // decoded: /api/v1/rules/a%2Fb is {"api", "v1", "rules", "a/b"}
  std::map<std::string, std::string> query;
  std::string body;
  std::string if_match;         // as sent; empty: none
  std::string if_none_match;    // the same
  std::string idempotency_key;  // empty: none
  std::string reason;           // why, in the caller's words: the header X-Reason
  control::Principal principal;

  // Copies it. kInvalidArgument: the path or the query is malformed.
  static Result<AdminCall> from(const net::HttpRequest& request, control::Principal principal);

  std::string_view parameter(std::string_view name) const;  // of the query; empty: not given
  // From `least` to `most`; `otherwise` if it is not given.
  Result<std::int64_t> number(std::string_view name, std::int64_t least, std::int64_t most,
                              std::int64_t otherwise) const;
  // kInvalidArgument: the reason, which the caller knows as `reason_field`, or the key is too long.
  Result<void> check_bounds(std::string_view reason_field) const;
  // The version of If-Match: "47" or W/"47"; 0, which is before the first one, for If-None-Match: *; none if
  // neither says something about it.
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

// What handlers work with. Lives on the control plane's thread for one call.
struct AdminContext {
  control::Registry& registry;
  PolicyCatalog& catalog;
  const Clock& clock;
  control::RolloutPilot& rollouts;
  // Every change of a policy that is in force goes through these stages; null: it is in force at once.
  const std::vector<control::RolloutStage>* staged = nullptr;

  // Writes it in the caller's name, with his reason and his idempotency key, if he `may` at that moment.
  Result<std::vector<ledger::Record>> write(const AdminCall& call, std::vector<ledger::Draft> drafts,
                                            const control::Registry::Permission& may = {});
  // What the caller wrote with the same idempotency key; nothing without a key. For changes that start from
  // what is there: sent again, they start from something else.
  Result<std::vector<ledger::Record>> written_before(const AdminCall& call);
  // The version of this document among it. An error if the key belongs to a change of something else.
  Result<std::optional<ledger::Record>> written_before(const AdminCall& call, ledger::Kind kind,
                                                       const std::string& name);
};

// The key was seen before, with another payload.
Error key_of_another_change(const AdminCall& call);

using AdminHandler = Result<AdminAnswer> (*)(AdminContext& context, const AdminCall& call);

// A place of the API: {"POST", "/v1/rules", create_rule}. `*` stands for one segment of the path.
struct AdminRoute {
  std::string_view method;
  std::string_view path;
  AdminHandler handler;
};

// The answer, or the error as problem+json.
net::HttpResponse to_response(const Result<AdminAnswer>& answer);

// Finds the handler and turns its answer into HTTP; what no route has is 404 or 405. Never throws.
net::HttpResponse answer_admin_call(std::span<const AdminRoute> routes, AdminContext& context,
                                    const AdminCall& call);

}  // namespace sluice::admin

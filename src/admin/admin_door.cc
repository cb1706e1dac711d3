#include "admin/admin_door.h"

#include <array>
#include <optional>
#include <utility>

#include "admin/audit.h"
#include "admin/policies/policies.h"
#include "admin/policies/rollouts.h"
#include "admin/rules/endpoint_rules.h"
#include "admin/rules/rules.h"
#include "admin/switch.h"
#include "admin/tokens.h"
#include "admin/users/user_limits.h"
#include "admin/users/users.h"
#include "doors/http/origin/other_site.h"
#include "doors/http/problem.h"

namespace sluice::admin {
namespace {

constexpr auto kRoutes = std::to_array<AdminRoute>({
    {"GET", "/v1/policies", list_policies},
    {"POST", "/v1/policies", apply_policies},
    {"GET", "/v1/policies/*", get_policy},
    {"PUT", "/v1/policies/*", put_policy},
    {"DELETE", "/v1/policies/*", remove_policy},
    {"GET", "/v1/policies/*/versions", list_versions},
    {"POST", "/v1/policies/*/rollback", roll_back_policy},
    {"GET", "/v1/rollouts", list_rollouts},
    {"GET", "/v1/policies/*/rollout", get_rollout},
    {"POST", "/v1/policies/*/rollout", start_rollout},
    {"DELETE", "/v1/policies/*/rollout", abort_rollout},
    {"POST", "/v1/policies/*/rollout/advance", advance_rollout},
    {"POST", "/v1/rules", create_rule},
    {"GET", "/v1/rules", list_rules},
    {"GET", "/v1/rules/*", list_rules},
    {"DELETE", "/v1/rules/*", delete_rule},
    {"GET", "/api/v1/rules", list_endpoint_rules},
    {"POST", "/api/v1/rules", create_endpoint_rule},
    {"GET", "/api/v1/rules/*", get_endpoint_rule},
    {"PUT", "/api/v1/rules/*", update_endpoint_rule},
    {"DELETE", "/api/v1/rules/*", delete_endpoint_rule},
    {"PUT", "/api/v1/users/*/tier", set_tier},
    {"POST", "/api/v1/users/*/override", add_override},
    {"DELETE", "/api/v1/users/*/override/*", remove_override},
    {"GET", "/api/v1/users/*/limits", list_user_limits},
    {"GET", "/v1/audit", list_audit},
    {"GET", "/v1/tokens", list_tokens},
    {"POST", "/v1/tokens", create_token},
    {"DELETE", "/v1/tokens/*", delete_token},
});

}  // namespace

std::vector<doors::HttpPath> admin_paths() {
  std::vector<doors::HttpPath> paths = {kSwitchPath};
  for (const AdminRoute& route : kRoutes) paths.push_back({route.path, route.method});
  return paths;
}

bool AdminDoor::handles(std::string_view path) const {
  constexpr std::array<std::string_view, 7> kAreas = {
      "/v1/policies", "/v1/rollouts", "/v1/rules", "/v1/audit", "/v1/tokens", "/v1/switch", "/api/v1"};
  for (const std::string_view area : kAreas)
    if (path.starts_with(area) && (path.size() == area.size() || path[area.size()] == '/')) return true;
  return false;
}

void AdminDoor::handle(const net::HttpRequest& request, net::HttpReply& reply) {
  net::HttpResponse& response = reply.response;
  auto principal = parts_.access.who(doors::peer_of(request), request.header("authorization"));
  if (!principal) return doors::write_problem(principal.error(), response);
  request.peer->recognise();
  auto call = AdminCall::from(request, std::move(*principal));
  if (!call) return doors::write_problem(call.error(), response);

  // In an emergency there is no rate limit, and the switch turns at once; only the answer waits for the
  // record.
  if (is_switch_call(*call)) return answer_switch(*call, reply);
  if (!limiter_.admit(call->principal, SelfLimiter::kind_of(call->method), call->body.size(), response))
    return;

  const auto later = std::make_shared<net::HttpReply::Later>();
  const bool taken =
      client_.ask([call = std::make_shared<const AdminCall>(std::move(*call))](
                      AdminContext& context) { return answer_admin_call(kRoutes, context, *call); },
                  [later](std::optional<net::HttpResponse>&& answer) {
                    if (!answer) doors::write_problem(ControlPlaneClient::out_of_memory(), answer.emplace());
                    (*later)(*std::move(answer));
                  });
  if (!taken) return doors::write_problem(ControlPlaneClient::busy(), response);
  *later = reply.later();
}

void AdminDoor::answer_switch(const AdminCall& call, net::HttpReply& reply) {
  net::HttpResponse answer = answer_switch_call(parts_.switch_controller, call);
  const auto later = std::make_shared<net::HttpReply::Later>();
  const bool is_turned = call.method == "PUT" && answer.status == 200;
  if (is_turned && when_recorded([later, answer] { (*later)(net::HttpResponse(answer)); }))
    *later = reply.later();
  else
    reply.response = std::move(answer);
}

// Do not wait for a database that is known to be unreachable.
bool AdminDoor::when_recorded(std::function<void()> then) {
  if (!parts_.outbox || !parts_.plane.status().reachable) return false;
  return client_.ask(
      [outbox = parts_.outbox](AdminContext& context) {
        outbox->write(context.registry);
        return true;
      },
      [then = std::move(then)](std::optional<bool>&&) { then(); });
}

}  // namespace sluice::admin

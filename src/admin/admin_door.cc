#include "admin/admin_door.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "admin/routes.h"
#include "admin/switch.h"
#include "doors/http/origin/other_site.h"
#include "doors/http/origin/session_cookie.h"
#include "doors/http/problem.h"

namespace sluice::admin {
namespace {

// "/v1/policies" of "/v1/policies/api.read": its first two segments.
std::string_view area_of(std::string_view path) {
  const std::size_t second = path.find('/', 1);
  return second == path.npos ? path : path.substr(0, path.find('/', second + 1));
}

}  // namespace

std::vector<doors::HttpPath> admin_paths() {
  std::vector<doors::HttpPath> paths = {kSwitchPath};
  for (const AdminRoute& route : kAdminRoutes) paths.push_back({route.path, route.method});
  return paths;
}

// An unknown path beside ours is ours, too: it gets our 404.
bool AdminDoor::handles(std::string_view path) const {
  const std::string_view area = area_of(path);
  return area == kSwitchPath.path || std::ranges::any_of(kAdminRoutes, [area](const AdminRoute& route) {
           return area == area_of(route.path);
         });
}

void AdminDoor::handle(const net::HttpRequest& request, net::HttpReply& reply) {
  net::HttpResponse& response = reply.response;
  std::string scratch;
  auto principal = authenticator_.who(doors::peer_of(request), doors::authorization_of(request, scratch));
  if (!principal) return doors::write_problem(principal.error(), response);
  request.peer->recognise();
  auto call = AdminCall::from(request, std::move(*principal));
  if (!call) return doors::write_problem(call.error(), response);

  // In an emergency there is no rate limit, and the switch turns at once; only the answer waits for the
  // record.
  if (is_switch_call(*call)) return answer_switch(*call, reply);
  if (!engine_.admit(call->principal, SelfLimiter::kind_of(call->method), call->body.size(), response))
    return;

  const auto later = std::make_shared<net::HttpReply::Later>();
  const bool taken =
      client_.ask([call = std::make_shared<const AdminCall>(std::move(*call))](
                      AdminContext& context) { return answer_admin_call(kAdminRoutes, context, *call); },
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
  const auto tell = [later, answer, outbox = parts_.outbox] {
    net::HttpResponse told = answer;
    if (const std::string problem = outbox->problem(); !problem.empty())
      told.headers.emplace_back("warning", "199 sluice \"" + problem + '"');
    (*later)(std::move(told));
  };
  if (is_turned && when_recorded(tell))
    *later = reply.later();
  else
    reply.response = std::move(answer);
}

// A database that is known to be unreachable is not asked: then the file of the outbox has the records.
bool AdminDoor::when_recorded(std::function<void()> then) {
  if (!parts_.outbox) return false;
  const bool is_reachable = parts_.plane.status().reachable;
  const bool taken = client_.ask(
      [outbox = parts_.outbox, is_reachable](AdminContext& context) {
        if (is_reachable)
          outbox->write(context.follower);
        else
          outbox->save();
        return true;
      },
      [then = std::move(then)](std::optional<bool>&&) { then(); });
  if (!taken) parts_.outbox->save();  // on this thread: an answer must not be lost, whatever is queued
  return taken;
}

}  // namespace sluice::admin

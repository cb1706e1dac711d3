// Who uses the dashboard: GET /v1/session, POST /v1/login, POST /v1/logout.
//
//   {"name":"token ops-1","roles":["operator"],"tenants":[],"has_checks":true}
#include <utility>

#include "base/try.h"
#include "control/access/authenticator.h"
#include "doors/access/caller.h"
#include "doors/door_context.h"
#include "doors/endpoints.h"
#include "doors/handlers.h"
#include "doors/http/origin/other_site.h"
#include "doors/http/origin/session_cookie.h"
#include "doors/text.h"

namespace sluice::doors {
namespace {

template <class Items, class ToText>
void append_list(std::string& out, const char* name, const Items& items, const ToText& to_text) {
  out.append(",\"").append(name).append("\":[");
  bool is_first = true;
  for (const auto& item : items) {
    if (!std::exchange(is_first, false)) out.push_back(',');
    append_json_string(out, to_text(item));
  }
  out.push_back(']');
}

// `has_checks`: whether this port answers checks, too.
void write_session(const control::Principal& principal, const net::Peer& peer, net::HttpResponse& response) {
  std::string& out = response.body;
  out.append("{\"name\":");
  append_json_string(out, principal.name);
  append_list(out, "roles", principal.roles, [](control::Role role) { return control::to_string(role); });
  append_list(out, "tenants", principal.tenants,
              [](const std::string& tenant) { return std::string_view(tenant); });
  out.append(",\"has_checks\":").append(is_served(peer.port, Side::kChecks) ? "true" : "false").append("}\n");
  response.headers.emplace_back("cache-control", "no-store");
}

Result<control::Principal> who(DoorContext& context, const net::HttpRequest& request,
                               std::string_view authorization) {
  if (!context.authenticator) return control::Principal::loopback();
  auto principal = SLUICE_TRY(context.authenticator->who(peer_of(request), authorization));
  request.peer->recognise();
  return principal;
}

Result<void> refuse_other_sites(const net::HttpRequest& request) {
  if (!is_sent_by_another_site(request)) return {};
  return std::unexpected(
      Error{ErrorCode::kPermissionDenied, "a page of another site must not log anybody in or out", ""});
}

}  // namespace

Result<void> http_session(DoorContext& context, const Caller&, const HttpCall& call) {
  std::string scratch;
  const auto principal = SLUICE_TRY(who(context, call.request, authorization_of(call.request, scratch)));
  write_session(principal, *call.request.peer, call.reply.response);
  return {};
}

// The token comes in the header `Authorization`, which no page of another site can send.
Result<void> http_login(DoorContext& context, const Caller&, const HttpCall& call) {
  SLUICE_TRY(refuse_other_sites(call.request));
  constexpr std::string_view kScheme = "Bearer ";
  const std::string_view given = call.request.header("authorization");
  const auto principal = SLUICE_TRY(who(context, call.request, given));
  if (given.empty()) {  // a peer who needs no token, and no cookie either
    write_session(principal, *call.request.peer, call.reply.response);
    return {};
  }
  if (!given.starts_with(kScheme) || !can_be_a_cookie(given.substr(kScheme.size())))
    return std::unexpected(Error{ErrorCode::kInvalidArgument,
                                 "send the header Authorization: Bearer, with a token", "authorization"});
  const bool is_secure = call.request.header("origin").starts_with("https://");
  call.reply.response.headers.emplace_back("set-cookie", cookie_of(given.substr(kScheme.size()), is_secure));
  write_session(principal, *call.request.peer, call.reply.response);
  return {};
}

Result<void> http_logout(DoorContext&, const Caller&, const HttpCall& call) {
  SLUICE_TRY(refuse_other_sites(call.request));
  call.reply.response.headers.emplace_back("set-cookie", no_cookie());
  call.reply.response.body.append("{}\n");
  return {};
}

}  // namespace sluice::doors

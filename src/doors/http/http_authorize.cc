// /v1/authorize, for proxies that ask before they pass a request on (nginx auth_request, Traefik ForwardAuth,
// Caddy forward_auth): the status is the answer. Every method is accepted, since proxies forward the
// client's.
//
// Where the fields of the check come from (the first source that has a field wins):
//   1. the query, which the proxy's configuration writes: policy_id, tenant_id, resource, key, tokens,
//      request_id; any other name is a dimension
//   2. from a trusted proxy only, X-Sluice-Tenant, -Resource, -Key, -Policy, -Tokens (or -Cost), -Request-Id;
//      any other, like X-Sluice-Api-Key, is a dimension: api_key
//   3. from a trusted proxy only, the dimension `ip` from X-Forwarded-For, `method` from X-Forwarded-Method,
//      and the resource from the path of X-Forwarded-Uri or X-Original-URI, decoded and normalized (without
//      "//", "." and "..")
//   4. the dimension `ip` from the peer's address
//
// Most proxies pass on the headers that their client sent. Therefore two headers that mean the same field are
// refused: one of them may be the client's, and it is impossible to tell which. X-Idempotency-Key comes from
// the client, too, and a client that always sends the same key would be charged only once. So it is the
// request_id only if the operator has configured that their proxy sets or clears it. Otherwise it is ignored,
// and the answer says so (X-Sluice-Warning).
#include <algorithm>
#include <vector>

#include "base/limits.h"
#include "base/text/utf8.h"
#include "doors/access/caller.h"
#include "doors/check/late_answer.h"
#include "doors/grpc/field_names.h"
#include "doors/handlers.h"
#include "doors/http/fields/check_field.h"
#include "doors/http/fields/check_json.h"
#include "doors/http/fields/check_query.h"
#include "doors/http/fields/only_one.h"
#include "doors/http/origin/forwarded.h"
#include "doors/http/problem.h"

namespace sluice::doors {
namespace {

constexpr std::string_view kHeaderPrefix = "x-sluice-";

// What was done with X-Idempotency-Key.
enum class KeyHeader : std::uint8_t { kAbsent, kIgnored, kIsRequestId };

// "api-key" is the dimension api_key; the fields have shorter names here than in a query.
std::string_view name_of_header(std::string_view suffix, std::string& scratch) {
  if (suffix == "policy") return "policy_id";
  if (suffix == "cost") return "tokens";
  const std::size_t start = scratch.size();
  for (const char c : suffix) scratch.push_back(c == '-' ? '_' : c);
  return std::string_view(scratch).substr(start);
}

Result<void> read_headers(const net::HttpRequest& request, std::string& scratch, CheckBuilder& check) {
  std::vector<std::string_view> names;  // that a header stands for, even an empty header
  for (const net::Header& header : request.headers) {
    if (!header.name.starts_with(kHeaderPrefix) || header.name.size() == kHeaderPrefix.size()) continue;
    const std::string_view name = name_of_header(header.name.substr(kHeaderPrefix.size()), scratch);
    const std::string_view meant = canonical_name(name);
    if (std::ranges::find(names, meant) != names.end()) return given_twice(std::string(header.name));
    names.push_back(meant);
    if (!is_utf8(header.value))
      return invalid(std::string(header.name), std::string(header.name) + " is not UTF-8");
    if (header.value.empty() || check.has(name)) continue;
    SLUICE_TRY(check.put(name, header.value));
  }
  return {};
}

// All values of a header that may occur on several lines, as one list.
std::string joined(const net::HttpRequest& request, std::string_view name) {
  std::string all;
  for (const net::Header& header : request.headers) {
    if (header.name != name) continue;
    if (!all.empty()) all.append(", ");
    all.append(header.value);
  }
  return all;
}

Result<void> put_unless_known(CheckBuilder& check, std::string_view name, std::string_view value) {
  if (value.empty() || check.has(name)) return {};
  return check.put(name, check.keep(value));
}

Result<void> read_forwarded_uri(const net::HttpRequest& request, std::string& scratch, CheckBuilder& check) {
  if (check.has("resource")) return {};
  std::string_view uri;
  for (const net::Header& header : request.headers) {
    if (header.name != "x-forwarded-uri" && header.name != "x-original-uri") continue;
    if (!uri.empty() && !header.value.empty() && header.value != uri)
      return invalid("resource",
                     "X-Forwarded-Uri and X-Original-URI are given more than once and differ; let the proxy "
                     "clear what it does not set");
    if (!header.value.empty()) uri = header.value;
  }
  if (uri.empty()) return {};
  const std::size_t start = scratch.size();
  SLUICE_TRY(append_resource(path_of_uri(uri), scratch));
  return check.put("resource", std::string_view(scratch).substr(start));
}

Result<void> read_forwarded(const net::HttpRequest& request, std::string& scratch, CheckBuilder& check) {
  const std::string_view method = SLUICE_TRY(only_one(request, "x-forwarded-method"));
  SLUICE_TRY(put_unless_known(check, "method", method));
  return read_forwarded_uri(request, scratch, check);
}

// Takes the request id from X-Idempotency-Key, as the proxy sent it.
Result<void> read_idempotency_key(const net::HttpRequest& request, CheckBuilder& check) {
  const std::string_view key = SLUICE_TRY(only_one(request, kKeyHeader));
  if (!key.empty() && check.has("request_id")) return given_twice(std::string(kKeyHeader));
  if (!is_utf8(key)) return invalid(std::string(kKeyHeader), std::string(kKeyHeader) + " is not UTF-8");
  return put_unless_known(check, "request_id", key);
}

// An upper bound of everything that is kept of the request.
std::size_t scratch_room(const net::HttpRequest& request) {
  std::size_t room = request.query.size() + 64;
  for (const net::Header& header : request.headers) room += header.name.size() + header.value.size();
  return room;
}

Result<KeyHeader> read_check(DoorContext& context, const net::HttpRequest& request) {
  context.checks.clear();
  context.scratch.clear();
  context.scratch.reserve(scratch_room(request));
  CheckBuilder check(context.checks, context.scratch);
  SLUICE_TRY(read_query(request.query, context.scratch, check));
  const AddressSet& trusted = context.options.trusted_proxies;
  auto client = IpAddress::parse(request.peer->address);
  KeyHeader key = request.header(kKeyHeader).empty() ? KeyHeader::kAbsent : KeyHeader::kIgnored;
  if (client && trusted.contains(*client)) {
    SLUICE_TRY(read_headers(request, context.scratch, check));
    SLUICE_TRY(read_forwarded(request, context.scratch, check));
    client = client_address(joined(request, "x-forwarded-for"), *client, trusted);
    if (context.options.trusts_idempotency_key) {
      SLUICE_TRY(read_idempotency_key(request, check));
      if (key == KeyHeader::kIgnored) key = KeyHeader::kIsRequestId;
    }
  }
  SLUICE_TRY(put_unless_known(check, "ip", client ? client->to_string() : std::string()));
  return key;
}

// "Prefer: return=minimal" (RFC 7240).
bool wants_no_body(const net::HttpRequest& request) {
  return request.header("prefer").find("return=minimal") != std::string_view::npos;
}

void write_answer(DoorContext& context, const Result<Decision>& decision, bool no_body, KeyHeader key,
                  net::HttpResponse& response) {
  if (key == KeyHeader::kIgnored)
    response.headers.emplace_back("x-sluice-warning",
                                  "x-idempotency-key was ignored; it needs --trust-idempotency-key");
  if (!decision)
    return write_problem(
        key == KeyHeader::kIsRequestId ? about_key_header(decision.error()) : decision.error(), response);
  if (decision->allowed) {
    if (no_body)
      response.status = 204;
    else
      append_answer(*decision, response.body);
  } else if (decision->degraded && !decision->tightest) {
    write_denial(503, *decision, response);
  } else {
    write_denial(context.options.deny_status, *decision, response);
  }
  context.headers.add(*decision, response);
}

}  // namespace

// 200 with the check's answer, or `deny_status` with a problem document; both with rate limit headers. If the
// check is denied because the store does not answer: 503 with Retry-After. A denial by the local limiter is
// like any other denial.
//
// With "Prefer: return=minimal", 204 instead of 200: most proxies do not read the body of an answer that lets
// a request pass, and have to close a connection that has unread bytes on it.
Result<void> http_authorize(DoorContext& context, const Caller& caller, const HttpCall& call) {
  const KeyHeader key = SLUICE_TRY(read_check(context, call.request));
  CheckRequest& check = context.checks.finish().front();
  const Permit permit = SLUICE_TRY(caller.permit({&check, 1}));
  SLUICE_TRY(context.gate.admit(1));
  answer(
      call.reply, [&](const auto& postpone) { return context.engine.check(permit, check, postpone); },
      [&context, no_body = wants_no_body(call.request), key](const Result<Decision>& decision,
                                                             net::HttpResponse& out) {
        write_answer(context, decision, no_body, key, out);
      });
  return {};
}

}  // namespace sluice::doors

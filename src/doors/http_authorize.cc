#include "doors/http_authorize.h"

#include <algorithm>
#include <vector>

#include "base/limits.h"
#include "base/utf8.h"
#include "doors/check_access.h"
#include "doors/check_field.h"
#include "doors/check_json.h"
#include "doors/check_query.h"
#include "doors/field_names.h"
#include "doors/forwarded.h"
#include "doors/problem.h"
#include "doors/query_string.h"

namespace sluice::doors {
namespace {

constexpr std::string_view kHeaderPrefix = "x-sluice-";
constexpr std::string_view kKeyHeader = "x-idempotency-key";

// "api-key" is the dimension api_key; the fields have shorter names here than in a query.
std::string_view name_of_header(std::string_view suffix, std::string& scratch) {
  if (suffix == "tenant") return "tenant_id";
  if (suffix == "policy") return "policy_id";
  if (suffix == "cost") return "tokens";
  const std::size_t start = scratch.size();
  for (const char c : suffix) scratch.push_back(c == '-' ? '_' : c);
  return std::string_view(scratch).substr(start);
}

Result<void> read_headers(const net::HttpRequest& request, std::string& scratch, CheckBuilder& check) {
  std::vector<std::string_view> names;  // that a header stands for, even one which is empty
  for (const net::Header& header : request.headers) {
    if (!header.name.starts_with(kHeaderPrefix) || header.name.size() == kHeaderPrefix.size()) continue;
    const std::string_view name = name_of_header(header.name.substr(kHeaderPrefix.size()), scratch);
    // The route is the resource by another name.
    const std::string_view meant = name == "route" ? "resource" : name;
    if (std::ranges::find(names, meant) != names.end()) return given_twice(std::string(header.name));
    names.push_back(meant);
    if (!is_utf8(header.value))
      return invalid(std::string(header.name), std::string(header.name) + " is not UTF-8");
    if (header.value.empty() || check.has(name)) continue;
    if (auto put = check.put(name, header.value); !put) return put;
  }
  return {};
}

// All values of a header that may come in several lines, as one list.
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
  // In one form, or "/%73earch" and "//search" would slip past the limits of "/search".
  const std::size_t start = scratch.size();
  if (!percent_decode(path_of_uri(uri), false, scratch))
    return invalid("resource", "the forwarded URI is not well percent-encoded UTF-8");
  normalize_path(scratch, start);
  return check.put("resource", std::string_view(scratch).substr(start));
}

// The value of a header of which there must be one at most, as of those that proxies set; "" if there is
// none.
Result<std::string_view> only_one(const net::HttpRequest& request, std::string_view name) {
  std::string_view value;
  bool seen = false;
  for (const net::Header& header : request.headers) {
    if (header.name != name) continue;
    if (seen) return given_twice(std::string(name));
    seen = true;
    value = header.value;
  }
  return value;
}

Result<void> read_forwarded(const net::HttpRequest& request, std::string& scratch, CheckBuilder& check) {
  const auto method = only_one(request, "x-forwarded-method");
  if (!method) return std::unexpected(method.error());
  if (auto put = put_unless_known(check, "method", *method); !put) return put;
  return read_forwarded_uri(request, scratch, check);
}

// The id of the request, as the proxy lets it through.
Result<void> read_idempotency_key(const net::HttpRequest& request, CheckBuilder& check) {
  const auto key = only_one(request, kKeyHeader);
  if (!key) return std::unexpected(key.error());
  if (!key->empty() && check.has("request_id")) return given_twice(std::string(kKeyHeader));
  if (!is_utf8(*key)) return invalid(std::string(kKeyHeader), std::string(kKeyHeader) + " is not UTF-8");
  return put_unless_known(check, "request_id", *key);
}

// More bytes than everything that is kept of the request.
std::size_t scratch_room(const net::HttpRequest& request) {
  std::size_t room = request.query.size() + 64;
  for (const net::Header& header : request.headers) room += header.name.size() + header.value.size();
  return room;
}

Result<void> read_check(DoorContext& context, const net::HttpRequest& request) {
  context.checks.clear();
  context.scratch.clear();
  context.scratch.reserve(scratch_room(request));
  CheckBuilder check(context.checks, context.scratch);
  if (auto read = read_query(request.query, context.scratch, check); !read) return read;
  const AddressSet& trusted = context.options.trusted_proxies;
  auto client = IpAddress::parse(request.peer->address);
  if (client && trusted.contains(*client)) {
    if (auto read = read_headers(request, context.scratch, check); !read) return read;
    if (auto read = read_forwarded(request, context.scratch, check); !read) return read;
    client = client_address(joined(request, "x-forwarded-for"), *client, trusted);
    if (context.options.trusts_idempotency_key)
      if (auto read = read_idempotency_key(request, check); !read) return read;
  }
  return put_unless_known(check, "ip", client ? client->to_string() : std::string());
}

// "Prefer: return=minimal" (RFC 7240).
bool wants_no_body(const net::HttpRequest& request) {
  return request.header("prefer").find("return=minimal") != std::string_view::npos;
}

// `is_keyed`: the request's id came as a header.
void write_answer(DoorContext& context, const Result<Decision>& decision, bool no_body, bool is_keyed,
                  net::HttpResponse& response) {
  if (!decision)
    return write_problem(is_keyed ? about_key_header(decision.error()) : decision.error(), response);
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

void http_authorize(DoorContext& context, const net::HttpRequest& request, net::HttpResponse& response,
                    const HttpDefer& defer) {
  if (auto read = read_check(context, request); !read) return write_problem(read.error(), response);
  CheckRequest& check = context.checks.finish().front();
  if (auto may = may_ask(context, request, control::Role::kCheck, {&check, 1}); !may)
    return write_problem(may.error(), response);
  if (auto room = context.gate.admit(1); !room) return write_problem(room.error(), response);
  answer_http([&](const auto& postpone) { return context.limiter.check(check, postpone); }, response, defer,
              [&context, no_body = wants_no_body(request),
               is_keyed = context.options.trusts_idempotency_key && !request.header(kKeyHeader).empty()](
                  const Result<Decision>& decision, net::HttpResponse& out) {
                write_answer(context, decision, no_body, is_keyed, out);
              });
}

}  // namespace sluice::doors

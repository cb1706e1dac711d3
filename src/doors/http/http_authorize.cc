#include "doors/http/http_authorize.h"

#include <algorithm>
#include <vector>

#include "base/limits.h"
#include "base/text/utf8.h"
#include "doors/grpc/field_names.h"
#include "doors/http/check_field.h"
#include "doors/http/check_json.h"
#include "doors/http/check_query.h"
#include "doors/http/forwarded.h"
#include "doors/http/only_one.h"
#include "doors/http/problem.h"
#include "doors/limit_owner.h"

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
    if (auto put = check.put(name, header.value); !put) return put;
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
  if (auto read = append_resource(path_of_uri(uri), scratch); !read) return read;
  return check.put("resource", std::string_view(scratch).substr(start));
}

Result<void> read_forwarded(const net::HttpRequest& request, std::string& scratch, CheckBuilder& check) {
  const auto method = only_one(request, "x-forwarded-method");
  if (!method) return std::unexpected(method.error());
  if (auto put = put_unless_known(check, "method", *method); !put) return put;
  return read_forwarded_uri(request, scratch, check);
}

// Takes the request id from X-Idempotency-Key, as the proxy sent it.
Result<void> read_idempotency_key(const net::HttpRequest& request, CheckBuilder& check) {
  const auto key = only_one(request, kKeyHeader);
  if (!key) return std::unexpected(key.error());
  if (!key->empty() && check.has("request_id")) return given_twice(std::string(kKeyHeader));
  if (!is_utf8(*key)) return invalid(std::string(kKeyHeader), std::string(kKeyHeader) + " is not UTF-8");
  return put_unless_known(check, "request_id", *key);
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
  const auto failed = [](Result<void>& read) { return std::unexpected(std::move(read.error())); };
  if (auto read = read_query(request.query, context.scratch, check); !read) return failed(read);
  const AddressSet& trusted = context.options.trusted_proxies;
  auto client = IpAddress::parse(request.peer->address);
  KeyHeader key = request.header(kKeyHeader).empty() ? KeyHeader::kAbsent : KeyHeader::kIgnored;
  if (client && trusted.contains(*client)) {
    if (auto read = read_headers(request, context.scratch, check); !read) return failed(read);
    if (auto read = read_forwarded(request, context.scratch, check); !read) return failed(read);
    client = client_address(joined(request, "x-forwarded-for"), *client, trusted);
    if (context.options.trusts_idempotency_key) {
      if (auto read = read_idempotency_key(request, check); !read) return failed(read);
      if (key == KeyHeader::kIgnored) key = KeyHeader::kIsRequestId;
    }
  }
  auto put = put_unless_known(check, "ip", client ? client->to_string() : std::string());
  if (!put) return failed(put);
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

void http_authorize(DoorContext& context, const net::HttpRequest& request, net::HttpResponse& response,
                    const HttpDefer& defer) {
  const auto key = read_check(context, request);
  if (!key) return write_problem(key.error(), response);
  CheckRequest& check = context.checks.finish().front();
  if (auto may = may_check(context, request, {&check, 1}); !may) return write_problem(may.error(), response);
  if (auto room = context.gate.admit(1); !room) return write_problem(room.error(), response);
  answer_http([&](const auto& postpone) { return context.limiter.check(check, postpone); }, response, defer,
              [&context, no_body = wants_no_body(request), key = *key](const Result<Decision>& decision,
                                                                       net::HttpResponse& out) {
                write_answer(context, decision, no_body, key, out);
              });
}

}  // namespace sluice::doors

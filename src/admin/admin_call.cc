#include "admin/admin_call.h"

#include <algorithm>
#include <charconv>

#include "admin/self_limits.h"
#include "base/limits.h"
#include "base/try.h"
#include "document/document_text.h"
#include "doors/http/fields/query_string.h"
#include "doors/http/problem.h"
#include "ledger/chain.h"

namespace sluice::admin {
namespace {

std::vector<std::string_view> segments_of(std::string_view path) {
  std::vector<std::string_view> segments;
  while (path.starts_with('/')) {
    path.remove_prefix(1);
    const std::size_t end = std::min(path.find('/'), path.size());
    segments.push_back(path.substr(0, end));
    path.remove_prefix(end);
  }
  return segments;
}

bool leads_to(const AdminRoute& route, const std::vector<std::string>& path) {
  const auto pattern = segments_of(route.path);
  return pattern.size() == path.size() &&
         std::ranges::equal(pattern, path, [](std::string_view expected, std::string_view given) {
           return expected == "*" ? !given.empty() : expected == given;
         });
}

void write_answer(const AdminAnswer& answer, net::HttpResponse& response) {
  response.status = answer.status;
  if (answer.body.kind != DocumentNode::Kind::kNull) append_json(answer.body, response.body);
  if (answer.version != 0) response.headers.emplace_back("etag", '"' + std::to_string(answer.version) + '"');
  if (!answer.location.empty()) response.headers.emplace_back("location", answer.location);
}

// What can be said before the handler knows what is named.
Result<void> may_call(const AdminRoute& route, const control::Principal& principal) {
  switch (route.reach) {
    case Reach::kAnyTenant:
      return principal.may(route.role);
    case Reach::kAllTenants:
      return principal.may(route.role, "");
    case Reach::kItsTenant:
      break;
  }
  return {};
}

Result<AdminAnswer> answer_by(const AdminRoute& route, AdminContext& context, const AdminCall& call) {
  SLUICE_TRY(may_call(route, call.principal));
  return route.handler(context, call);
}

// The ledger's errors mention drafts and request ids; callers know them as headers.
Error in_words_of_http(Error error, const AdminCall& call) {
  if (error.code == ErrorCode::kStale)
    error.field = !call.if_match.empty() ? "if-match" : call.if_none_match.empty() ? "" : "if-none-match";
  if (error.code == ErrorCode::kFailedPrecondition && error.field == "request_id")
    return key_of_another_change(call);
  return error;
}

}  // namespace

Result<AdminCall> AdminCall::from(const net::HttpRequest& request, control::Principal principal) {
  AdminCall call;
  call.method = request.method;
  for (const std::string_view segment : segments_of(request.path))
    if (!doors::percent_decode(segment, false, call.path.emplace_back()))
      return invalid("path", "the path is not well-formed");
  std::string scratch;
  scratch.reserve(request.query.size());
  doors::QueryReader query(request.query, scratch);
  while (query.next()) call.query[std::string(query.name())] = query.value();
  if (!query.ok()) return invalid("query", "the query is not well-formed");
  call.body = request.body;
  call.bytes = request.body.size();
  call.if_match = request.header("if-match");
  call.if_none_match = request.header("if-none-match");
  call.idempotency_key = request.header("idempotency-key");
  call.reason = request.header("x-reason");
  call.principal = std::move(principal);
  SLUICE_TRY(call.check_bounds("x-reason"));
  return call;
}

Result<void> AdminCall::check_bounds(std::string_view reason_field) const {
  if (reason.size() > kReasonBytesMax)
    return invalid(std::string(reason_field),
                   "a reason has at most " + std::to_string(kReasonBytesMax) + " bytes");
  if (idempotency_key.size() > kRequestIdBytesMax)
    return invalid("idempotency-key", "it has at most " + std::to_string(kRequestIdBytesMax) + " bytes");
  if (!ledger::can_store(reason))
    return invalid(std::string(reason_field), "a reason must be UTF-8 without NUL");
  if (!ledger::can_store(idempotency_key)) return invalid("idempotency-key", "it must be UTF-8 without NUL");
  return {};
}

std::string_view AdminCall::parameter(std::string_view name) const {
  const auto found = query.find(std::string(name));
  return found == query.end() ? std::string_view() : std::string_view(found->second);
}

Result<std::int64_t> AdminCall::number(std::string_view name, std::int64_t least, std::int64_t most,
                                       std::int64_t otherwise) const {
  const std::string_view text = parameter(name);
  if (text.empty()) return otherwise;
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error == std::errc() && end == text.data() + text.size() && value >= least && value <= most)
    return value;
  return invalid(std::string(name), std::string(name) + " must be a whole number from " +
                                        std::to_string(least) + " to " + std::to_string(most));
}

Result<std::optional<std::int64_t>> AdminCall::expected_version() const {
  std::string_view text = if_match;
  if (text.empty() && if_none_match == "*") return 0;
  if (text.empty() || text == "*") return std::nullopt;
  if (text.starts_with("W/")) text.remove_prefix(2);
  if (text.size() > 2 && text.front() == '"' && text.back() == '"') {
    text = text.substr(1, text.size() - 2);
    std::int64_t version = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), version);
    if (error == std::errc() && end == text.data() + text.size() && version >= 0) return version;
  }
  return invalid("if-match", "send the ETag that you received, for example \"47\"");
}

Result<std::vector<ledger::Record>> AdminContext::write(const AdminCall& call,
                                                        std::vector<ledger::Draft> drafts,
                                                        const control::LedgerFollower::Permission& may) {
  std::size_t bytes = 0;
  for (const ledger::Draft& draft : drafts) bytes += draft.body.size();
  if (self_limits && bytes > call.bytes)
    SLUICE_TRY(self_limits->charge_stored(call.principal, bytes - call.bytes));
  auto written = follower.write({.drafts = std::move(drafts),
                                 .actor = call.principal.name,
                                 .reason = call.reason,
                                 .at_us = clock.now_us(),
                                 .request_id = call.idempotency_key},
                                may);
  if (!written) return std::unexpected(in_words_of_http(std::move(written.error()), call));
  return written;
}

Error key_of_another_change(const AdminCall& call) {
  return {ErrorCode::kFailedPrecondition,
          "the idempotency key \"" + call.idempotency_key + "\" was used for another change; use a new one",
          "idempotency-key"};
}

net::HttpResponse to_response(const Result<AdminAnswer>& answer) {
  net::HttpResponse response;
  if (answer)
    write_answer(*answer, response);
  else
    doors::write_problem(answer.error(), response);
  return response;
}

net::HttpResponse answer_admin_call(std::span<const AdminRoute> routes, AdminContext& context,
                                    const AdminCall& call) {
  std::string allowed;
  for (const AdminRoute& route : routes) {
    if (!leads_to(route, call.path)) continue;
    const bool is_head_of_get = route.method == "GET" && call.method == "HEAD";
    if (route.method != call.method && !is_head_of_get) {
      allowed.append(allowed.empty() ? "" : ", ").append(route.method);
      continue;
    }
    return to_response(answer_by(route, context, call));
  }
  net::HttpResponse response;
  if (allowed.empty()) {
    doors::write_problem(404, "no such path", response);
  } else {
    response.headers.emplace_back("allow", allowed);
    doors::write_problem(405, "this path supports " + allowed, response);
  }
  return response;
}

}  // namespace sluice::admin

#include "doors/http/problem.h"

#include <iterator>
#include <string>

#include "base/text/utf8.h"
#include "doors/grpc/error_details.h"
#include "doors/http/headers/rate_limit_headers.h"
#include "doors/text.h"
#include "net/http/http_text.h"

namespace sluice::doors {
namespace {

using net::GrpcCode;

struct Codes {
  int http;
  GrpcCode grpc;
  std::string_view name;
};

Codes codes_of(ErrorCode code) {
  switch (code) {
    case ErrorCode::kInvalidArgument:
      return {400, GrpcCode::kInvalidArgument, "invalid_argument"};
    case ErrorCode::kPolicyNotFound:
      return {400, GrpcCode::kNotFound, "policy_not_found"};
    case ErrorCode::kNotFound:
      return {404, GrpcCode::kNotFound, "not_found"};
    case ErrorCode::kConflict:
      return {409, GrpcCode::kAlreadyExists, "conflict"};
    case ErrorCode::kStale:
      return {412, GrpcCode::kAborted, "stale"};
    case ErrorCode::kUnauthenticated:
      return {401, GrpcCode::kUnauthenticated, "unauthenticated"};
    case ErrorCode::kPermissionDenied:
      return {403, GrpcCode::kPermissionDenied, "permission_denied"};
    case ErrorCode::kFailedPrecondition:
      return {422, GrpcCode::kFailedPrecondition, "failed_precondition"};
    case ErrorCode::kUnavailable:
      return {503, GrpcCode::kUnavailable, "unavailable"};
    case ErrorCode::kOverloaded:
      return {503, GrpcCode::kResourceExhausted, "overloaded"};
    case ErrorCode::kInternal:
      break;
  }
  return {500, GrpcCode::kInternal, "internal"};
}

// Opens the object. The caller adds members, each with a leading comma, and closes it.
void append_problem_start(std::string_view type, std::string_view title, int status, std::string_view detail,
                          std::string& body) {
  body.append("{\"type\":");
  append_json_string(body, type);
  body.append(",\"title\":");
  append_json_string(body, title);
  body.append(",\"status\":").append(std::to_string(status));
  body.append(",\"detail\":");
  append_json_string(body, detail);
}

void begin_problem(std::string_view type, std::string_view title, int status, std::string_view detail,
                   net::HttpResponse& response) {
  response.status = status;
  response.content_type = "application/problem+json";
  response.body.clear();
  append_problem_start(type, title, status, detail, response.body);
}

void append_member(std::string& body, std::string_view name, std::string_view value) {
  body.push_back(',');
  append_json_string(body, name);
  body.push_back(':');
  append_json_string(body, value);
}

// Jittered, so that clients that were refused together do not return together.
std::string_view retry_after(ErrorCode code) {
  static constexpr std::string_view kSeconds[] = {"1", "2", "3"};
  static thread_local std::size_t turn = 0;
  return code == ErrorCode::kOverloaded ? kSeconds[turn++ % std::size(kSeconds)] : kSeconds[0];
}

std::string_view why_degraded(Reason reason) {
  if (reason == Reason::kStoreFull) return "the store is out of memory; try again";
  if (reason == Reason::kPoliciesUnknown) return "the policies cannot be read yet; try again";
  return "the store cannot be reached; try again";
}

std::string_view why_denied(const Decision& decision) {
  if (decision.reason != Reason::kTooLarge) return "the limit is used up; try again later";
  return decision.limit() == 0 ? "this limit allows nothing"
                               : "this request is larger than the limit will ever allow";
}

}  // namespace

void append_problem(const Error& error, std::string& out) {
  const Codes codes = codes_of(error.code);
  append_problem_start("about:blank", net::reason_phrase(codes.http), codes.http, error.message, out);
  append_member(out, "code", codes.name);
  if (!error.field.empty()) append_member(out, "field", error.field);
  out.push_back('}');
}

void write_problem(const Error& error, net::HttpResponse& response) {
  response.status = codes_of(error.code).http;
  response.content_type = "application/problem+json";
  response.body.clear();
  append_problem(error, response.body);
  if (response.status == 503) response.headers.emplace_back("retry-after", retry_after(error.code));
  if (response.status == 401) response.headers.emplace_back("www-authenticate", "Bearer");
}

void write_problem(int status, std::string_view detail, net::HttpResponse& response) {
  begin_problem("about:blank", net::reason_phrase(status), status, as_utf8(detail), response);
  response.body.push_back('}');
}

void write_denial(int status, const Decision& decision, net::HttpResponse& response) {
  if (decision.degraded) {
    begin_problem("https://iana.org/assignments/http-problem-types#temporary-reduced-capacity",
                  "Temporary Reduced Capacity", status, why_degraded(decision.reason), response);
  } else {
    begin_problem("https://iana.org/assignments/http-problem-types#quota-exceeded", "Quota Exceeded", status,
                  why_denied(decision), response);
  }
  std::string& body = response.body;
  body.append(",\"violated-policies\":[");
  bool first = true;
  for (const LimitStatus& status_of_limit : decision.limits) {
    if (status_of_limit.result->outcome.allowed) continue;
    if (!first) body.push_back(',');
    first = false;
    std::string name(qualifier(decision, status_of_limit));
    if (!name.empty()) name.push_back('.');
    append_json_string(body, name.append(status_of_limit.limit->name()));
  }
  body.push_back(']');
  if (decision.policy) append_member(body, "policy_id", decision.policy->source.id);
  append_member(body, "reason", to_string(decision.reason));
  body.append(",\"retry_after_ms\":").append(std::to_string(decision.retry_after_ms()));
  body.push_back('}');
}

net::GrpcStatus grpc_status(const Error& error) {
  const Codes codes = codes_of(error.code);
  return {codes.grpc, error.field.empty() ? error.message : error.field + ": " + error.message,
          error_details(codes.grpc, codes.name, error)};
}

void write_problem(const Error& error, net::GrpcResponse& response) { response.status = grpc_status(error); }

}  // namespace sluice::doors

#include "doors/http/http_usage.h"

#include "base/arith.h"
#include "doors/check_access.h"
#include "doors/http/check_json.h"
#include "doors/http/check_query.h"
#include "doors/http/problem.h"
#include "doors/text.h"

namespace sluice::doors {
namespace {

Result<void> read_question(DoorContext& context, const net::HttpRequest& request) {
  context.checks.clear();
  context.scratch.clear();
  context.scratch.reserve(request.query.size());
  CheckBuilder check(context.checks, context.scratch);
  return read_query(request.query, context.scratch, check);
}

void append_names(std::string& out, const std::vector<std::string>& names) {
  out.push_back('[');
  for (const std::string& name : names) {
    if (&name != names.data()) out.push_back(',');
    append_json_string(out, name);
  }
  out.push_back(']');
}

void append_quota(std::string& out, const LimitStatus& status) {
  out.append("{\"name\":");
  append_json_string(out, status.limit->name());
  out.append(",\"per\":");
  append_names(out, status.limit->per());
  out.append(",\"limit\":").append(std::to_string(status.numbers->rate.count));
  out.append(",\"period_ms\":").append(std::to_string(ceil_div(status.numbers->rate.period_us, 1000)));
  out.append(",\"algorithm\":");
  append_json_string(out, to_string(status.numbers->algorithm));
  out.push_back('}');
}

void append_usage(std::string& out, const LimitStatus& status, std::int64_t now_us) {
  const Outcome& outcome = status.result->outcome;
  out.append("{\"quota\":");
  append_quota(out, status);
  out.append(",\"current\":").append(std::to_string(status.current()));
  out.append(",\"remaining\":").append(std::to_string(outcome.remaining));
  out.append(",\"reset_unix_ms\":").append(std::to_string(ceil_div(now_us + outcome.reset_after_us, 1000)));
  out.append(",\"state\":");
  append_json_string(out, to_string(status.result->pressure));
  out.push_back('}');
}

void write_usages(const Result<Decision>& usage, net::HttpResponse& response) {
  if (!usage) return write_problem(usage.error(), response);
  response.body.append("{\"usages\":[");
  for (const LimitStatus& status : usage->limits) {
    if (&status != usage->limits.data()) response.body.push_back(',');
    append_usage(response.body, status, usage->now_us);
  }
  response.body.append("]}");
}

}  // namespace

void http_usage(DoorContext& context, const net::HttpRequest& request, net::HttpResponse& response,
                const HttpDefer& defer) {
  if (auto read = read_question(context, request); !read) return write_problem(read.error(), response);
  CheckRequest& check = context.checks.finish().front();
  if (auto all = require_fields(check, context.check_rules()); !all)
    return write_problem(all.error(), response);
  if (auto may = may_ask(context, request, control::Role::kRead, {&check, 1}); !may)
    return write_problem(may.error(), response);
  answer_http([&](const auto& postpone) { return context.limiter.usage(check, postpone); }, response, defer,
              write_usages);
}

void http_reset(DoorContext& context, const net::HttpRequest& request, net::HttpResponse& response,
                const HttpDefer& defer) {
  context.checks.clear();
  ResetWish wish;
  if (auto read = read_reset(request.body, context.scratch, context.checks, context.check_rules(), wish);
      !read)
    return write_problem(read.error(), response);
  CheckRequest& check = context.checks.finish().front();
  auto allowed = may_reset(context, request, check, wish.reason);
  if (!allowed) return write_problem(allowed.error(), response);
  allowed->reach.shared = wish.shared.value_or(false);
  const auto reset = [&context, &check, reach = allowed->reach](const auto& postpone) {
    return context.limiter.reset(check, reach, postpone);
  };
  answer_http_recorded(
      context, reset, response, defer,
      [&context, report = std::move(allowed->report)](const Result<int>& existed) {
        return tell_reset(context.options, report, existed);
      },
      [](const Result<int>& existed, net::HttpResponse& out) {
        if (!existed) return write_problem(existed.error(), out);
        out.body.append("{\"reset\":").append(std::to_string(*existed)).append("}");
      });
}

}  // namespace sluice::doors

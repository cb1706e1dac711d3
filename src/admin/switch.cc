#include "admin/switch.h"

#include <array>
#include <cassert>

#include "admin/body_reader.h"
#include "base/arith.h"
#include "base/limits.h"
#include "base/switch_limits.h"
#include "base/utf8.h"
#include "doors/problem.h"
#include "policy/document_builder.h"

namespace sluice::admin {
namespace {

using control::Role;
using control::SwitchDesk;

// Unlike other texts it may be empty.
Literal<std::string> parse_reason(std::string_view text) {
  return text.empty() ? std::string() : parse_free_text(text, kReasonBytesMax);
}

AdminAnswer view_of(const SwitchDesk& desk) {
  const SwitchWord word = desk.in_force();
  const std::int64_t now_us = desk.now_us();
  const bool open = word.holds_open_at(now_us);
  AdminAnswer answer;
  answer.body = map_node();
  put(answer.body, "mode", text_node(open ? "open" : "normal"));
  put(answer.body, "reason", text_node(word.reason));
  put(answer.body, "ttl_seconds", number_node(open ? ceil_div(word.until_us - now_us, 1'000'000) : 0));
  put(answer.body, "until", open ? text_node(instant_text(word.until_us)) : null_node());
  put(answer.body, "actor", word.at_us == 0 ? null_node() : text_node(word.actor));
  put(answer.body, "at", word.at_us == 0 ? null_node() : text_node(instant_text(word.at_us)));
  return answer;
}

Result<AdminAnswer> get_switch(SwitchDesk& desk, const AdminCall& call) {
  // It is about all tenants.
  if (auto may = call.principal.may(Role::kRead, ""); !may) return std::unexpected(may.error());
  return view_of(desk);
}

Result<AdminAnswer> put_switch(SwitchDesk& desk, const AdminCall& call) {
  constexpr std::array<std::string_view, 3> kNames = {"mode", "reason", "ttl_seconds"};
  if (auto may = call.principal.may(Role::kOperator, ""); !may) return std::unexpected(may.error());
  if (!is_utf8(call.reason)) return invalid("x-reason", "a reason is UTF-8");
  const BodyReader body(call, kNames);
  const Fields& fields = body.fields();
  SwitchDesk::Order order{.open = fields.text("mode", control::parse_switch_mode).value_or(false),
                          .actor = call.principal.name,
                          .reason = call.reason,
                          .ttl_seconds = kSwitchSecondsDefault};
  fields.missing("mode");
  if (auto reason = fields.text("reason", parse_reason)) order.reason = std::move(*reason);
  if (const auto seconds = fields.integer("ttl_seconds", kSwitchSecondsMin, kSwitchSecondsMax))
    order.ttl_seconds = *seconds;
  if (auto wrong = body.error()) return std::unexpected(*wrong);
  desk.turn(order);
  return view_of(desk);
}

}  // namespace

bool is_switch_call(const AdminCall& call) {
  return call.path.size() == 2 && call.path[0] == "v1" && call.path[1] == "switch";
}

net::HttpResponse answer_switch_call(SwitchDesk& desk, const AdminCall& call) {
  assert(is_switch_call(call));
  if (call.method == "GET" || call.method == "HEAD") return to_response(get_switch(desk, call));
  if (call.method == "PUT") return to_response(put_switch(desk, call));
  net::HttpResponse response;
  response.headers.emplace_back("allow", kSwitchPath.methods);
  doors::write_problem(405, "this path takes " + std::string(kSwitchPath.methods), response);
  return response;
}

}  // namespace sluice::admin

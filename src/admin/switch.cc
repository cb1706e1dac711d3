#include "admin/switch.h"

#include <array>
#include <cassert>

#include "admin/body_reader.h"
#include "base/arith.h"
#include "base/limits.h"
#include "base/limits/switch_limits.h"
#include "base/try.h"
#include "document/document_builder.h"
#include "doors/http/problem.h"

namespace sluice::admin {
namespace {

using control::Role;
using control::SwitchController;

// Unlike other texts, a reason may be empty.
Literal<std::string> parse_reason(std::string_view text) {
  return text.empty() ? std::string() : parse_free_text(text, kReasonBytesMax);
}

AdminAnswer view_of(const SwitchController& controller) {
  const SwitchWord word = controller.in_force();
  const std::int64_t now_us = controller.now_us();
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

Result<AdminAnswer> get_switch(SwitchController& controller, const AdminCall& call) {
  // The switch affects all tenants.
  SLUICE_TRY(call.principal.may(Role::kRead, ""));
  return view_of(controller);
}

Result<AdminAnswer> put_switch(SwitchController& controller, const AdminCall& call) {
  constexpr std::array<std::string_view, 3> kNames = {"mode", "reason", "ttl_seconds"};
  SLUICE_TRY(call.principal.may(Role::kOperator, ""));
  const BodyReader body(call, kNames);
  const Fields& fields = body.fields();
  SwitchController::Order order{.open = fields.text("mode", control::parse_switch_mode).value_or(false),
                                .actor = call.principal.name,
                                .reason = call.reason,
                                .ttl_seconds = kSwitchSecondsDefault};
  fields.missing("mode");
  if (auto reason = fields.text("reason", parse_reason)) order.reason = std::move(*reason);
  if (const auto seconds = fields.integer("ttl_seconds", kSwitchSecondsMin, kSwitchSecondsMax))
    order.ttl_seconds = *seconds;
  if (auto wrong = body.error()) return std::unexpected(*wrong);
  controller.turn(order);
  return view_of(controller);
}

}  // namespace

bool is_switch_call(const AdminCall& call) {
  return call.path.size() == 2 && call.path[0] == "v1" && call.path[1] == "switch";
}

net::HttpResponse answer_switch_call(SwitchController& controller, const AdminCall& call) {
  assert(is_switch_call(call));
  if (call.method == "GET" || call.method == "HEAD") return to_response(get_switch(controller, call));
  if (call.method == "PUT") return to_response(put_switch(controller, call));
  net::HttpResponse response;
  response.headers.emplace_back("allow", kSwitchPath.methods);
  doors::write_problem(405, "this path supports " + std::string(kSwitchPath.methods), response);
  return response;
}

}  // namespace sluice::admin

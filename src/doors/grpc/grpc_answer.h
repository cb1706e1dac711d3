#pragma once

#include <string_view>
#include <utility>

#include "doors/access/caller.h"
#include "doors/check/late_answer.h"
#include "doors/door_context.h"
#include "doors/grpc/field_names.h"
#include "doors/handlers.h"
#include "doors/http/fields/check_field.h"
#include "doors/http/problem.h"

// The common steps of every gRPC door after it has read a request: authorize the caller; then admit the check
// if the node has capacity, which unauthorized callers must not use up; then ask the engine, and answer now
// or later. `write` is as in answer().
namespace sluice::doors {

// Answers the check as it is: its request_id is already in it.
template <class Write>
Result<void> answer_complete_check(DoorContext& context, const Caller& caller, const GrpcCall& call,
                                   CheckRequest& request, Write write) {
  const Permit permit = SLUICE_TRY(caller.permit({&request, 1}));
  SLUICE_TRY(context.gate.admit(1));
  answer(
      call.reply, [&](const auto& postpone) { return context.engine.check(permit, request, postpone); },
      write);
  return {};
}

// The same for a check as it was read: if the message has no request_id, it may come once as metadata.
// Signature: write(const Result<Decision>&,
// net::GrpcResponse&).
template <class Write>
Result<void> answer_check(DoorContext& context, const Caller& caller, const GrpcCall& call,
                          CheckRequest& request, Write write) {
  if (call.context.idempotency_keys > 1) [[unlikely]]
    return given_twice(std::string(kKeyHeader));
  if (call.context.idempotency_key.empty() || !request.request_id.empty()) [[likely]]
    return answer_complete_check(context, caller, call, request, write);
  CheckRequest with_key = request;
  with_key.request_id = call.context.idempotency_key;
  return answer_complete_check(context, caller, call, with_key,
                               [write](const Result<Decision>& decision, net::GrpcResponse& out) {
                                 if (decision) return write(decision, out);
                                 write(std::unexpected(about_key_header(decision.error())), out);
                               });
}

// The same without charging.
template <class Write>
Result<void> answer_look(DoorContext& context, const Caller& caller, const GrpcCall& call,
                         CheckRequest& request, Write write) {
  const Permit permit = SLUICE_TRY(caller.permit({&request, 1}));
  answer(
      call.reply, [&](const auto& postpone) { return context.engine.usage(permit, request, postpone); },
      write);
  return {};
}

// Records in the audit log who reset what and why. `shared`: as in ResetReach. write(const Result<int>&,
// net::GrpcResponse&) receives the number of counters that existed.
template <class Write>
Result<void> answer_reset(DoorContext& context, const Caller& caller, const GrpcCall& call,
                          CheckRequest& request, std::string_view reason, Write write, bool shared = false) {
  AllowedReset allowed = SLUICE_TRY(caller.permit_reset(request, reason));
  allowed.reach.shared = shared;
  answer_recorded(
      context, call.reply,
      [&](const auto& postpone) {
        return context.engine.reset(allowed.permit, request, allowed.reach, postpone);
      },
      [&options = context.options, report = std::move(allowed.report)](const Result<int>& existed) {
        return report_reset(options, report, existed);
      },
      write);
  return {};
}

}  // namespace sluice::doors

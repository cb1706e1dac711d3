#pragma once

#include <string_view>
#include <utility>

#include "doors/check_access.h"
#include "doors/door_context.h"
#include "doors/grpc/field_names.h"
#include "doors/http/check_field.h"
#include "doors/http/problem.h"
#include "doors/late_answer.h"
#include "doors/limit_owner.h"

// The common steps of every gRPC door after it has read a request: authorize the caller; then admit the check
// if the node has capacity, which unauthorized callers must not use up; then ask the engine, and answer now
// or later. `write` is as in answer_grpc().
namespace sluice::doors {

template <class Write>
net::GrpcStatus answer_exact_check(DoorContext& context, const GrpcCall& call, CheckRequest& request,
                                   Write write) {
  if (auto may = may_check(context, call.context, {&request, 1}); !may) return grpc_status(may.error());
  if (auto room = context.gate.admit(1); !room) return grpc_status(room.error());
  return answer_grpc([&](const auto& postpone) { return context.limiter.check(request, postpone); },
                     call.reply, call.defer, write);
}

// If the message has no request_id, it may come once as metadata. Signature: write(const Result<Decision>&,
// std::string&).
template <class Write>
net::GrpcStatus answer_check(DoorContext& context, const GrpcCall& call, CheckRequest& request, Write write) {
  if (call.context.idempotency_keys > 1) [[unlikely]]
    return grpc_status(given_twice(std::string(kKeyHeader)).error());
  if (call.context.idempotency_key.empty() || !request.request_id.empty()) [[likely]]
    return answer_exact_check(context, call, request, write);
  CheckRequest with_key = request;
  with_key.request_id = call.context.idempotency_key;
  return answer_exact_check(context, call, with_key,
                            [write](const Result<Decision>& decision, std::string& reply) {
                              if (decision) return write(decision, reply);
                              return write(std::unexpected(about_key_header(decision.error())), reply);
                            });
}

// The same without charging.
template <class Write>
net::GrpcStatus answer_look(DoorContext& context, const GrpcCall& call, CheckRequest& request, Write write) {
  if (auto may = may_ask(context, call.context, control::Role::kRead, {&request, 1}); !may)
    return grpc_status(may.error());
  return answer_grpc([&](const auto& postpone) { return context.limiter.usage(request, postpone); },
                     call.reply, call.defer, write);
}

// Records in the audit log who reset what and why. `shared`: as in ResetReach. write(const Result<int>&,
// std::string&) receives the number of counters that existed.
template <class Write>
net::GrpcStatus answer_reset(DoorContext& context, const GrpcCall& call, CheckRequest& request,
                             std::string_view reason, Write write, bool shared = false) {
  auto allowed = may_reset(context, call.context, request, reason);
  if (!allowed) return grpc_status(allowed.error());
  allowed->reach.shared = shared;
  return answer_grpc_recorded(
      context, [&](const auto& postpone) { return context.limiter.reset(request, allowed->reach, postpone); },
      call.reply, call.defer,
      [&options = context.options, report = std::move(allowed->report)](const Result<int>& existed) {
        return tell_reset(options, report, existed);
      },
      write);
}

}  // namespace sluice::doors

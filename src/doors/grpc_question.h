#pragma once

#include <string_view>
#include <utility>

#include "doors/check_access.h"
#include "doors/door_context.h"
#include "doors/late_answer.h"
#include "doors/problem.h"

// What every gRPC door does with a question once it has read it: see whether the caller may ask, and whether
// there is room for one more check, which strangers must not use up; ask the engine, and answer now or later.
// `write` is as answer_grpc() has it.
namespace sluice::doors {

// write(const Result<Decision>&, std::string&)
template <class Write>
net::GrpcStatus answer_check(DoorContext& context, const GrpcCall& call, const CheckRequest& request,
                             Write write) {
  if (auto may = may_ask(context.options, call.context, control::Role::kCheck, {&request, 1}); !may)
    return grpc_status(may.error());
  if (auto room = context.gate.admit(1); !room) return grpc_status(room.error());
  return answer_grpc([&](const auto& postpone) { return context.limiter.check(request, postpone); },
                     call.reply, call.defer, write);
}

// The same without charging.
template <class Write>
net::GrpcStatus answer_look(DoorContext& context, const GrpcCall& call, const CheckRequest& request,
                            Write write) {
  if (auto may = may_ask(context.options, call.context, control::Role::kRead, {&request, 1}); !may)
    return grpc_status(may.error());
  return answer_grpc([&](const auto& postpone) { return context.limiter.usage(request, postpone); },
                     call.reply, call.defer, write);
}

// Tells the audit who reset what and why. write(const Result<int>&, std::string&) gets the number of counters
// there were.
template <class Write>
net::GrpcStatus answer_reset(DoorContext& context, const GrpcCall& call, const CheckRequest& request,
                             std::string_view reason, Write write) {
  auto allowed = may_reset(context.options, call.context, request, reason);
  if (!allowed) return grpc_status(allowed.error());
  return answer_grpc(
      [&](const auto& postpone) { return context.limiter.reset(request, allowed->reach, postpone); },
      call.reply, call.defer,
      [&options = context.options, report = std::move(allowed->report), write](const Result<int>& existed,
                                                                               std::string& reply) {
        if (existed) tell_reset(options, report, *existed);
        return write(existed, reply);
      });
}

}  // namespace sluice::doors

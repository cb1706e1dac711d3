// Envoy's rate limit service, envoy.service.ratelimit.v3.RateLimitService, and the same as JSON over HTTP.
// docs/envoy.md explains how requests are interpreted.
//
// decide() reads a request and plans its checks. Then there are three ways to the answer:
//   ask()                  most requests: all checks in one step of the store
//   look_then_ask()        several quotas: they are looked at first, and the full ones are not asked about
//   ask_and_give_back()    some descriptors give hits back: a refund right after the checks
// Each step may answer at once or later. What a later answer needs is copied, because by then other calls
// have used the scratch space of the context.
#include <algorithm>
#include <functional>
#include <memory>
#include <utility>

#include "doors/access/caller.h"
#include "doors/envoy/envoy_planner.h"
#include "doors/envoy/envoy_quota.h"
#include "doors/envoy/envoy_refund.h"
#include "doors/handlers.h"
#include "doors/http/problem.h"

namespace sluice::doors {
namespace {

// Rewrites an error of the engine so that it names the descriptor instead of the check or, if `gives_back`,
// the refund.
Error in_descriptor(Error error, const std::vector<PlannedDescriptor>& planned, bool gives_back = false) {
  if (!error.item) return error;
  const auto blamed = std::ranges::find_if(planned, [&](const PlannedDescriptor& each) {
    return each.check == *error.item && each.gives_back == gives_back;
  });
  const std::string descriptor = "descriptors[" + std::to_string(blamed - planned.begin()) + ']';
  error.field = error.field.empty() ? descriptor : descriptor + '.' + error.field;
  error.item.reset();
  return error;
}

using Written = EnvoyRefund::Written;  // an answer that is complete, or an error
using Read = Result<void> (*)(std::string_view body, DoorContext& context);

void write_answer(const Written& answer, net::GrpcResponse& out) {
  if (!answer) return write_problem(answer.error(), out);
  (*answer)->append_wire(out.message);
}

void write_answer(const Written& answer, net::HttpResponse& out) {
  if (!answer) return write_problem(answer.error(), out);
  if ((*answer)->over_limit) out.status = (*answer)->unreachable ? 503 : 429;
  if ((*answer)->unreachable)
    for (const auto& [name, value] : (*answer)->headers) out.headers.emplace_back(name, value);
  (*answer)->append_json(out.body);
}

// The function that writes the answer later.
template <class Response>
EnvoyRefund::Write postpone_answer(net::Reply<Response>& reply) {
  return [later = reply.later()](const Written& answer) {
    Response response;
    write_answer(answer, response);
    later(std::move(response));
  };
}

// One call in progress.
template <class Response>
struct EnvoyCall {
  DoorContext& context;
  Permit permit;
  std::int64_t deadline_us;
  net::Reply<Response>& reply;
  const Caller* owner;  // as in EnvoyPlanner
  RefundReach reach = RefundReach::kNothing;
};

// `joint` null: nothing was checked.
const EnvoyAnswer* answer_of(DoorContext& context, const JointDecision* joint,
                             const std::vector<PlannedDescriptor>& planned, std::span<const FullQuota> full) {
  EnvoyAnswer& answer = context.envoy.answer;
  answer.fill(planned, joint, context.envoy_headers);
  if (!full.empty()) [[unlikely]]
    fill_full_statuses(full, planned, answer.statuses);
  return &answer;
}

template <class Writer>
void answer_with(DoorContext& context, const Result<JointDecision>& joint,
                 const std::vector<PlannedDescriptor>& planned, std::span<const FullQuota> full,
                 const Writer& write) {
  if (!joint) return write(std::unexpected(in_descriptor(joint.error(), planned)));
  write(answer_of(context, &*joint, planned, full));
}

// The same for a request that also gives hits back. The refund is made right after the checks, whatever their
// result; only a malformed request prevents both.
template <class Response>
[[gnu::noinline]] Result<void> ask_and_give_back(const EnvoyCall<Response>& call,
                                                 std::span<const CheckRequest> checks,
                                                 std::span<const FullQuota> full) {
  DoorContext& context = call.context;
  const std::vector<PlannedDescriptor>& planned = context.envoy.planned;
  const std::vector<CheckRequest>& refunds = context.envoy.refunds;
  if (const auto valid = context.engine.validate_give_back(refunds); !valid)
    return std::unexpected(in_descriptor(valid.error(), planned, true));
  const auto both = std::make_shared<EnvoyRefund>(planned);
  const auto take = [both](const Written& others) { both->take_others(others); };
  if (checks.empty()) {
    take(answer_of(context, nullptr, planned, full));
  } else {
    const auto joint = context.engine.check_together(call.permit, checks, [&] {
      return [&context, both, take, full_then = std::vector<FullQuota>(full.begin(), full.end())](
                 const Result<JointDecision>& late) {
        answer_with(context, late, both->planned(), full_then, take);
      };
    });
    if (joint && !*joint) return std::unexpected(in_descriptor(joint->error(), planned));
    if (joint) answer_with(context, *joint, planned, full, take);
  }
  const auto given = context.engine.give_back(call.permit, refunds, call.reach, [&] {
    return [both](const Result<JointDecision>& late) { both->take_levels(late); };
  });
  if (given) both->take_levels(*given);
  if (both->is_complete())
    write_answer(both->answer(), call.reply.response);
  else
    both->answer_later(postpone_answer(call.reply));
  return {};
}

// Makes the checks of the request that was read last, without the full quotas.
template <class Response>
Result<void> ask(const EnvoyCall<Response>& call, std::span<const CheckRequest> checks,
                 std::span<const FullQuota> full) {
  DoorContext& context = call.context;
  const std::vector<PlannedDescriptor>& planned = context.envoy.planned;
  if (!context.envoy.refunds.empty()) [[unlikely]]
    return ask_and_give_back(call, checks, full);
  if (checks.empty()) {
    write_answer(answer_of(context, nullptr, planned, full), call.reply.response);
    return {};
  }
  const auto joint = context.engine.check_together(call.permit, checks, [&] {
    return [&context, write = postpone_answer(call.reply), planned_then = planned,
            full_then = std::vector<FullQuota>(full.begin(), full.end())](const Result<JointDecision>& late) {
      answer_with(context, late, planned_then, full_then, write);
    };
  });
  if (joint)
    answer_with(context, *joint, planned, full,
                [&](const Written& written) { write_answer(written, call.reply.response); });
  return {};
}

// Makes the checks that remain after a look at the quotas: all but those of the full ones.
template <class Response>
Result<void> ask_about_others(const EnvoyCall<Response>& call, const Engine::Hold& hold,
                              std::span<const FullQuota> full) {
  EnvoyPlanner planner(call.context, hold.policies(), call.owner);
  const auto checks = SLUICE_TRY(planner.plan(call.deadline_us, full));
  return ask(call, checks, full);
}

// The reply to a call that had to wait for a look. It answers when it is destroyed, unless that is postponed
// once more.
template <class Response>
class ReplyAfterLook final : public net::Reply<Response> {
 public:
  using Later = typename net::Reply<Response>::Later;

  explicit ReplyAfterLook(const Later& later) : net::Reply<Response>(response_), later_(later) {}
  ~ReplyAfterLook() {
    if (!is_postponed_) later_(std::move(response_));
  }
  Later later() override {
    is_postponed_ = true;
    return later_;
  }

 private:
  const Later& later_;
  Response response_;
  bool is_postponed_ = false;
};

// `body` is parsed again if the look takes a while: by then other calls have used the scratch space.
template <class Response>
Result<void> look_then_ask(const EnvoyCall<Response>& call, const Engine::Hold& hold, QuotaLook look,
                           std::string_view body, Read read) {
  const auto looked = call.context.engine.usage_together(call.permit, look.looks(), [&] {
    return [&context = call.context, permit = call.permit, deadline_us = call.deadline_us, reach = call.reach,
            later = call.reply.later(), look, kept = std::string(body),
            read](const Result<JointDecision>& late) {
      const std::vector<FullQuota> full = look.full(late, context.engine);
      ReplyAfterLook<Response> reply(later);
      if (auto again = read(kept, context); !again) return write_problem(again.error(), reply.response);
      const Engine::Hold late_hold = context.engine.hold();
      // Limits that come with the request are known by now, so nobody has to own them.
      const EnvoyCall<Response> rest{context, permit, deadline_us, reply, nullptr, reach};
      if (auto asked = ask_about_others(rest, late_hold, full); !asked)
        write_problem(asked.error(), reply.response);
    };
  });
  if (!looked) return {};
  return ask_about_others(call, hold, look.full(*looked, call.context.engine));
}

template <class Response>
Result<void> decide(DoorContext& context, std::int64_t deadline_us, net::Reply<Response>& reply,
                    const Caller& caller, std::string_view body, Read read) {
  SLUICE_TRY(read(body, context));
  CheckRequest about_domain{.tenant = context.envoy.request.domain};
  const Permit permit = SLUICE_TRY(caller.permit({&about_domain, 1}));
  SLUICE_TRY(context.gate.admit(context.envoy.request.descriptors.size()));
  const Engine::Hold hold = context.engine.hold();
  EnvoyPlanner planner(context, hold.policies(), &caller);
  const auto checks = SLUICE_TRY(planner.plan(deadline_us, {}));
  EnvoyCall<Response> call{context, permit, deadline_us, reply, &caller};
  if (!context.envoy.refunds.empty()) [[unlikely]]
    call.reach = caller.refund_reach(about_domain);
  if (planner.has_quotas() && !context.engine.is_switch_open()) [[unlikely]] {
    QuotaLook look(context.envoy.planned, checks);
    if (look.is_needed()) return look_then_ask(call, hold, std::move(look), body, read);
  }
  return ask(call, checks, {});
}

Result<void> read_wire(std::string_view body, DoorContext& context) {
  return read_envoy_request(body, context.envoy.request);
}
Result<void> read_json(std::string_view body, DoorContext& context) {
  return read_envoy_json(body, context.scratch, context.envoy.request);
}

}  // namespace

Result<void> grpc_should_rate_limit(DoorContext& context, const Caller& caller, const GrpcCall& call) {
  return decide(context, call.context.deadline_us, call.reply, caller, call.message, read_wire);
}

// POST /json: 200 if all descriptors are within their limits, 429 if not, 503 if denied because the store did
// not answer.
Result<void> http_envoy_json(DoorContext& context, const Caller& caller, const HttpCall& call) {
  return decide(context, 0, call.reply, caller, call.request.body, read_json);
}

}  // namespace sluice::doors

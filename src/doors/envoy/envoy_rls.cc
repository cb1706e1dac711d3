// Envoy's rate limit service, envoy.service.ratelimit.v3.RateLimitService, and the same as JSON over HTTP.
// docs/envoy.md explains how requests are interpreted.
#include <algorithm>
#include <functional>
#include <memory>
#include <utility>

#include "doors/access/caller.h"
#include "doors/envoy/envoy_quota.h"
#include "doors/envoy/envoy_refund.h"
#include "doors/handlers.h"
#include "doors/http/problem.h"

namespace sluice::doors {
namespace {

// Rewrites an error of the engine so that it names the descriptor instead of the check or, if `gives_back`,
// the refund.
Error in_descriptor(Error error, const std::vector<EnvoySlot>& slots, bool gives_back = false) {
  if (!error.item) return error;
  const auto slot = std::ranges::find_if(slots, [&](const EnvoySlot& each) {
    return each.check == *error.item && each.gives_back == gives_back;
  });
  const std::string descriptor = "descriptors[" + std::to_string(slot - slots.begin()) + ']';
  error.field = error.field.empty() ? descriptor : descriptor + '.' + error.field;
  error.item.reset();
  return error;
}

// Makes the checks for a request. Lives only that long.
class EnvoyPlanner {
 public:
  // `owner`: of limits that come with the request; null if they are known already.
  EnvoyPlanner(DoorContext& context, const Snapshot& policies, const Caller* owner)
      : context_(context),
        owner_(owner),
        envoy_(context.envoy),
        domain_(policies.find_envoy_domain(context.envoy.request.domain)) {}

  // Fills the slots and the refunds, and returns the checks, without those for the descriptors in `full`.
  Result<std::span<const CheckRequest>> plan(std::int64_t deadline_us, std::span<const FullQuota> full) {
    envoy_.slots.clear();
    envoy_.resources.clear();
    envoy_.checks.clear();
    envoy_.refunds.clear();
    const std::size_t count = envoy_.request.descriptors.size();
    for (std::size_t i = 0; i < count; ++i) find(i);
    if (has_replacements_) drop_replaced();
    if (!full.empty()) [[unlikely]]
      mark_full(full, envoy_.slots);
    std::size_t begin = 0;
    for (std::size_t i = 0; i < count; ++i) {
      EnvoySlot& slot = envoy_.slots[i];
      const std::string_view resource(envoy_.resources.data() + begin, slot.resource_end - begin);
      begin = slot.resource_end;
      if (slot.kind == Kind::kLetThrough) continue;
      std::vector<CheckRequest>& those = slot.gives_back ? envoy_.refunds : envoy_.checks;
      slot.check = those.size();
      CheckRequest& check = those.emplace_back();
      check.deadline_us = deadline_us;
      SLUICE_TRY(fill(i, resource, check));
    }
    return envoy_.checks;
  }

  // Whether a limit of the latest plan has `quota_mode`.
  bool has_quotas() const { return has_quotas_; }

 private:
  using Kind = EnvoySlot::Kind;

  void find(std::size_t i) {
    EnvoySlot& slot = envoy_.slots.emplace_back();
    slot.gives_back = envoy_.request.descriptors[i].gives_back;
    const auto entries = envoy_.request.entries_of(i);
    const bool brings_limit = domain_ && envoy_.request.descriptors[i].limit;
    if (domain_ && !brings_limit) slot.rule = domain_->find(entries, envoy_.resources);
    if (brings_limit) {
      slot.kind = Kind::kOverride;
      const auto unit = static_cast<EnvoyUnit>(envoy_.request.descriptors[i].limit->unit);
      append_envoy_counter(entries, to_string(unit), envoy_.resources);
    } else if (slot.rule) {
      slot.kind = slot.rule->policy_id.empty() ? Kind::kLetThrough : Kind::kRule;
      has_replacements_ |= !slot.rule->replaces.empty();
      has_quotas_ |= slot.rule->quota && !slot.gives_back;
    } else {
      append_fitting_resource(entries, envoy_.resources);
    }
    slot.resource_end = envoy_.resources.size();
  }

  // Limits that another limit of the request replaces do not count, even if that one is itself replaced.
  void drop_replaced() {
    for (const EnvoySlot& by : envoy_.slots)
      if (by.rule)
        for (const std::string& name : by.rule->replaces)
          for (EnvoySlot& slot : envoy_.slots)
            if (slot.rule && slot.rule->name == name) slot.kind = Kind::kLetThrough;
  }

  Result<void> fill(std::size_t i, std::string_view resource, CheckRequest& check) {
    const EnvoySlot& slot = envoy_.slots[i];
    check.tenant = envoy_.request.domain;
    check.dimensions = envoy_.request.dimensions_of(i);
    check.resource = resource;
    if (const auto hits = envoy_.request.hits_of(i)) take_hits(*hits, slot.gives_back, check);
    if (slot.kind == Kind::kRule) {
      check.policy_id = slot.rule->policy_id;
      check.policy_id_lasts = true;
    }
    if (slot.kind == Kind::kOverride) {
      check.policy_id = domain_->override_policy_id();
      auto numbers = take_limit(
          context_, {Algorithm::kFixedWindow, rate_of(*envoy_.request.descriptors[i].limit), {}}, owner_);
      if (!numbers) {
        numbers.error().field = "descriptors[" + std::to_string(i) + "].limit";
        return std::unexpected(std::move(numbers.error()));
      }
      check.numbers = *numbers;
    }
    return {};
  }

  // Hits may come from a header of Envoy's client, so a number that is too large is not an error: Envoy would
  // let such a request pass.
  static void take_hits(std::uint64_t hits, bool gives_back, CheckRequest& check) {
    constexpr auto kMost = static_cast<std::uint64_t>(kCostMax);
    check.cost = static_cast<std::int64_t>(std::min(hits, kMost));
    check.fits_nowhere = hits > kMost && !gives_back;
  }

  DoorContext& context_;
  const Caller* const owner_;
  EnvoyScratch& envoy_;
  const EnvoyLookup* const domain_;  // null: no file describes it
  bool has_replacements_ = false;
  bool has_quotas_ = false;
};

using Written = EnvoyRefund::Written;
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
struct Call {
  DoorContext& context;
  Permit permit;
  std::int64_t deadline_us;
  net::Reply<Response>& reply;
  const Caller* owner;  // as in EnvoyPlanner
  RefundReach reach = RefundReach::kNothing;
};

// `joint` null: nothing was checked.
const EnvoyAnswer* answer_of(DoorContext& context, const JointDecision* joint,
                             const std::vector<EnvoySlot>& slots, std::span<const FullQuota> full) {
  EnvoyAnswer& answer = context.envoy.answer;
  answer.fill(slots, joint, context.envoy_headers);
  if (!full.empty()) [[unlikely]]
    tell_full(full, slots, answer.statuses);
  return &answer;
}

template <class Writer>
void tell(DoorContext& context, const Result<JointDecision>& joint, const std::vector<EnvoySlot>& slots,
          std::span<const FullQuota> full, const Writer& write) {
  if (!joint) return write(std::unexpected(in_descriptor(joint.error(), slots)));
  write(answer_of(context, &*joint, slots, full));
}

// The same for a request that also gives hits back. The refund is made right after the checks, whatever their
// result; only a malformed request prevents both.
template <class Response>
[[gnu::noinline]] Result<void> ask_and_give_back(const Call<Response>& call,
                                                 std::span<const CheckRequest> checks,
                                                 std::span<const FullQuota> full) {
  DoorContext& context = call.context;
  const std::vector<EnvoySlot>& slots = context.envoy.slots;
  const std::vector<CheckRequest>& refunds = context.envoy.refunds;
  if (const auto valid = context.engine.validate_give_back(refunds); !valid)
    return std::unexpected(in_descriptor(valid.error(), slots, true));
  const auto both = std::make_shared<EnvoyRefund>(slots);
  const auto take = [both](const Written& others) { both->take_others(others); };
  if (checks.empty()) {
    take(answer_of(context, nullptr, slots, full));
  } else {
    const auto joint = context.engine.check_together(call.permit, checks, [&] {
      return [&context, both, take, full_then = std::vector<FullQuota>(full.begin(), full.end())](
                 const Result<JointDecision>& late) { tell(context, late, both->slots(), full_then, take); };
    });
    if (joint && !*joint) return std::unexpected(in_descriptor(joint->error(), slots));
    if (joint) tell(context, *joint, slots, full, take);
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
Result<void> ask(const Call<Response>& call, std::span<const CheckRequest> checks,
                 std::span<const FullQuota> full) {
  DoorContext& context = call.context;
  const std::vector<EnvoySlot>& slots = context.envoy.slots;
  if (!context.envoy.refunds.empty()) [[unlikely]]
    return ask_and_give_back(call, checks, full);
  if (checks.empty()) {
    write_answer(answer_of(context, nullptr, slots, full), call.reply.response);
    return {};
  }
  const auto joint = context.engine.check_together(call.permit, checks, [&] {
    return [&context, write = postpone_answer(call.reply), slots_then = slots,
            full_then = std::vector<FullQuota>(full.begin(), full.end())](const Result<JointDecision>& late) {
      tell(context, late, slots_then, full_then, write);
    };
  });
  if (joint)
    tell(context, *joint, slots, full,
         [&](const Written& written) { write_answer(written, call.reply.response); });
  return {};
}

// Makes the remaining checks after a look at the quotas.
template <class Response>
Result<void> ask_without(const Call<Response>& call, const Limiter::Hold& hold,
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
Result<void> look_then_ask(const Call<Response>& call, const Limiter::Hold& hold, QuotaLook look,
                           std::string_view body, Read read) {
  const auto looked = call.context.engine.usage_together(call.permit, look.looks(), [&] {
    return [&context = call.context, permit = call.permit, deadline_us = call.deadline_us, reach = call.reach,
            later = call.reply.later(), look, kept = std::string(body),
            read](const Result<JointDecision>& late) {
      const std::vector<FullQuota> full = look.full(late, context.engine);
      ReplyAfterLook<Response> reply(later);
      if (auto again = read(kept, context); !again) return write_problem(again.error(), reply.response);
      const Limiter::Hold late_hold = context.engine.hold();
      // Limits that come with the request are known by now, so nobody has to own them.
      const Call<Response> rest{context, permit, deadline_us, reply, nullptr, reach};
      if (auto asked = ask_without(rest, late_hold, full); !asked)
        write_problem(asked.error(), reply.response);
    };
  });
  if (!looked) return {};
  return ask_without(call, hold, look.full(*looked, call.context.engine));
}

template <class Response>
Result<void> decide(DoorContext& context, std::int64_t deadline_us, net::Reply<Response>& reply,
                    const Caller& caller, std::string_view body, Read read) {
  SLUICE_TRY(read(body, context));
  CheckRequest about_domain{.tenant = context.envoy.request.domain};
  const Permit permit = SLUICE_TRY(caller.permit({&about_domain, 1}));
  SLUICE_TRY(context.gate.admit(context.envoy.request.descriptors.size()));
  const Limiter::Hold hold = context.engine.hold();
  EnvoyPlanner planner(context, hold.policies(), &caller);
  const auto checks = SLUICE_TRY(planner.plan(deadline_us, {}));
  Call<Response> call{context, permit, deadline_us, reply, &caller};
  if (!context.envoy.refunds.empty()) [[unlikely]]
    call.reach = caller.refund_reach(about_domain);
  if (planner.has_quotas() && !context.engine.is_switch_open()) [[unlikely]] {
    QuotaLook look(context.envoy.slots, checks);
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

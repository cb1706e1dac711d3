#include "doors/envoy/envoy_rls.h"

#include <algorithm>
#include <functional>
#include <memory>
#include <utility>

#include "doors/check_access.h"
#include "doors/envoy/envoy_quota.h"
#include "doors/envoy/envoy_refund.h"
#include "doors/http/problem.h"
#include "doors/limit_owner.h"

namespace sluice::doors {
namespace {

using net::GrpcStatus;

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
  // `owner` outlives it.
  EnvoyPlanner(DoorContext& context, const Snapshot& policies, const LimitOwner& owner)
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
      if (auto filled = fill(i, resource, check); !filled) return std::unexpected(std::move(filled.error()));
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
      append_envoy_resource(entries, envoy_.resources);
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
    check.resource = slot.kind == Kind::kOther ? resource.substr(0, kResourceBytesMax) : resource;
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
  const LimitOwner& owner_;
  EnvoyScratch& envoy_;
  const EnvoyLookup* const domain_;  // null: no file describes it
  bool has_replacements_ = false;
  bool has_quotas_ = false;
};

using Written = EnvoyRefund::Written;
using Write = EnvoyRefund::Write;
using Read = Result<void> (*)(std::string_view body, DoorContext& context);

// One call in progress. Asker has `void write(const Written&)`, which answers now, and `Write defer()`, which
// makes the function that answers later. Each door has its own type, since a function object per call would
// be measurable.
template <class Asker>
struct Call {
  DoorContext& context;
  std::int64_t deadline_us;
  Asker& asker;
  const LimitOwner& owner;
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
template <class Asker>
[[gnu::noinline]] void ask_and_give_back(const Call<Asker>& call, std::span<const CheckRequest> checks,
                                         std::span<const FullQuota> full) {
  DoorContext& context = call.context;
  const std::vector<EnvoySlot>& slots = context.envoy.slots;
  const std::vector<CheckRequest>& refunds = context.envoy.refunds;
  const auto refuse = [&](const Error& error, bool gives_back) {
    call.asker.write(std::unexpected(in_descriptor(error, slots, gives_back)));
  };
  if (const auto valid = context.limiter.validate_give_back(refunds); !valid)
    return refuse(valid.error(), true);
  const auto both = std::make_shared<EnvoyRefund>(slots);
  const auto take = [both](const Written& others) { both->take_others(others); };
  if (checks.empty()) {
    take(answer_of(context, nullptr, slots, full));
  } else {
    const auto joint = context.limiter.check_together(checks, [&] {
      return [&context, both, take, full_then = std::vector<FullQuota>(full.begin(), full.end())](
                 const Result<JointDecision>& late) { tell(context, late, both->slots(), full_then, take); };
    });
    if (joint && !*joint) return refuse(joint->error(), false);
    if (joint) tell(context, *joint, slots, full, take);
  }
  const auto given = context.limiter.give_back(refunds, call.reach, [&] {
    return [both](const Result<JointDecision>& late) { both->take_levels(late); };
  });
  if (given) both->take_levels(*given);
  if (both->is_complete())
    call.asker.write(both->answer());
  else
    both->answer_later(call.asker.defer());
}

// Makes the checks of the request that was read last, without the full quotas.
template <class Asker>
void ask(const Call<Asker>& call, std::span<const CheckRequest> checks, std::span<const FullQuota> full) {
  DoorContext& context = call.context;
  const std::vector<EnvoySlot>& slots = context.envoy.slots;
  if (!context.envoy.refunds.empty()) [[unlikely]]
    return ask_and_give_back(call, checks, full);
  if (checks.empty()) return call.asker.write(answer_of(context, nullptr, slots, full));
  const auto joint = context.limiter.check_together(checks, [&] {
    return [&context, write_late = call.asker.defer(), slots_then = slots,
            full_then = std::vector<FullQuota>(full.begin(), full.end())](const Result<JointDecision>& late) {
      tell(context, late, slots_then, full_then, write_late);
    };
  });
  if (joint) tell(context, *joint, slots, full, [&](const Written& answer) { call.asker.write(answer); });
}

// Makes the remaining checks after a look at the quotas.
template <class Asker>
void ask_without(const Call<Asker>& call, const Limiter::Hold& hold, std::span<const FullQuota> full) {
  const auto checks = EnvoyPlanner(call.context, hold.policies(), call.owner).plan(call.deadline_us, full);
  if (!checks) return call.asker.write(std::unexpected(checks.error()));
  ask(call, *checks, full);
}

// The Asker of a call that had to wait for a look.
struct LateAsker {
  void write(const Written& answer) const { write_late(answer); }
  Write defer() const { return write_late; }
  const Write& write_late;
};

// `body` is parsed again if the look takes a while: by then other calls have used the scratch space.
template <class Asker>
void look_then_ask(const Call<Asker>& call, const Limiter::Hold& hold, QuotaLook look, std::string_view body,
                   Read read) {
  const auto looked = call.context.limiter.usage_together(look.looks(), [&] {
    return [&context = call.context, deadline_us = call.deadline_us, reach = call.reach,
            write = call.asker.defer(), look, kept = std::string(body),
            read](const Result<JointDecision>& late) {
      const std::vector<FullQuota> full = look.full(late, context.limiter);
      if (auto again = read(kept, context); !again) return write(std::unexpected(again.error()));
      const Limiter::Hold late_hold(context.limiter);
      const LateAsker asker{write};
      const LimitOwner nobody;  // limits that come with the request are known by now
      ask_without(Call<const LateAsker>{context, deadline_us, asker, nobody, reach}, late_hold, full);
    };
  });
  if (looked) ask_without(call, hold, look.full(*looked, call.context.limiter));
}

template <class Asker, class Caller>
void decide(DoorContext& context, std::int64_t deadline_us, Asker& asker, const Caller& caller,
            std::string_view body, Read read) {
  const LimitOwner owner = owner_of(context, caller);
  Call<Asker> call{context, deadline_us, asker, owner};
  const auto refuse = [&](Error error) { call.asker.write(std::unexpected(std::move(error))); };
  if (auto good = read(body, context); !good) return refuse(std::move(good.error()));
  CheckRequest about_domain{.tenant = context.envoy.request.domain};
  if (auto may = may_ask(context, caller, control::Role::kCheck, {&about_domain, 1}); !may)
    return refuse(std::move(may.error()));
  if (auto room = context.gate.admit(context.envoy.request.descriptors.size()); !room)
    return refuse(std::move(room.error()));
  const Limiter::Hold hold(context.limiter);
  EnvoyPlanner planner(context, hold.policies(), owner);
  const auto checks = planner.plan(call.deadline_us, {});
  if (!checks) return refuse(checks.error());
  if (!context.envoy.refunds.empty()) [[unlikely]]
    call.reach = refund_reach(context, caller, about_domain);
  if (planner.has_quotas() && !context.limiter.is_switch_open()) [[unlikely]] {
    QuotaLook look(context.envoy.slots, *checks);
    if (look.is_needed()) return look_then_ask(call, hold, std::move(look), body, read);
  }
  ask(call, *checks, {});
}

Result<void> read_wire(std::string_view body, DoorContext& context) {
  return read_envoy_request(body, context.envoy.request);
}
Result<void> read_json(std::string_view body, DoorContext& context) {
  return read_envoy_json(body, context.scratch, context.envoy.request);
}

GrpcStatus write_grpc(const Written& answer, std::string& reply) {
  if (!answer) return grpc_status(answer.error());
  (*answer)->append_wire(reply);
  return {};
}

void write_http(const Written& answer, net::HttpResponse& response) {
  if (!answer) return write_problem(answer.error(), response);
  if ((*answer)->over_limit) response.status = (*answer)->unreachable ? 503 : 429;
  if ((*answer)->unreachable)
    for (const auto& [name, value] : (*answer)->headers) response.headers.emplace_back(name, value);
  (*answer)->append_json(response.body);
}

struct GrpcAsker {
  void write(const Written& answer) { status = write_grpc(answer, call.reply); }
  Write defer() const {
    return [later = call.defer()](const Written& answer) {
      std::string message;
      const GrpcStatus late_status = write_grpc(answer, message);
      later(late_status, message);
    };
  }
  const GrpcCall& call;
  GrpcStatus status = {};
};

struct HttpAsker {
  void write(const Written& answer) { write_http(answer, response); }
  Write defer() const {
    return [later = defer_http()](const Written& answer) {
      net::HttpResponse late;
      write_http(answer, late);
      later(std::move(late));
    };
  }
  net::HttpResponse& response;
  const HttpDefer& defer_http;
};

}  // namespace

GrpcStatus grpc_should_rate_limit(DoorContext& context, const GrpcCall& call) {
  GrpcAsker asker{call};
  decide(context, call.context.deadline_us, asker, call.context, call.message, read_wire);
  return std::move(asker.status);
}

void http_envoy_json(DoorContext& context, const net::HttpRequest& request, net::HttpResponse& response,
                     const HttpDefer& defer) {
  HttpAsker asker{response, defer};
  decide(context, 0, asker, request, request.body, read_json);
}

}  // namespace sluice::doors

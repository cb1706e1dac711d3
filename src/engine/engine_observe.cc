// What the engine tells the observers of decisions; see observe/decision_observer.h.
#include "engine/engine.h"

namespace sluice {

AskedTexts Engine::texts_of(const CheckRequest& request, std::string_view tenant) {
  const Dimensions dimensions(request);
  return {.tenant = tenant,
          .resource = dimensions.resource(),
          .key = dimensions.key(),
          .dimensions = request.dimensions,
          .request_id = request.request_id,
          .trace = request.trace};
}

// Copies what was asked, because the answer comes later. `joint`: see name_keys().
[[gnu::noinline]] void Engine::keep_texts(std::span<const CheckRequest> requests, const JointPlan* joint,
                                          KeptTexts& kept) {
  for (std::size_t i = 0; i < requests.size(); ++i) {
    const CompiledPolicy* const first = joint ? joint->parts[i].first_policy : planner_.first_policy();
    kept.add(texts_of(requests[i], planner_.tenant_of(requests[i], first)));
  }
}

[[gnu::noinline]] void Engine::tell(const AskedTexts& asked, const Decision& decision, const Decision* joint,
                                    std::optional<std::int64_t> took_ns) {
  watch_.offer({.at_us = decision.now_us != 0 ? decision.now_us : parts_.clock.now_us(),
                .asked = asked,
                .decision = decision,
                .joint = joint,
                .took_ns = took_ns});
}

[[gnu::noinline]] void Engine::tell_of(const CheckRequest& request, std::string_view tenant,
                                       const Decision& decision, std::optional<std::int64_t> took_ns) {
  tell(texts_of(request, tenant), decision, nullptr, took_ns);
}

[[gnu::noinline]] void Engine::tell_of_parts(std::span<const CheckRequest> requests, const JointPlan* joint,
                                             const Result<JointDecision>& answer) {
  if (!answer || watch_.empty()) return;
  for (std::size_t i = 0; i < requests.size(); ++i) {
    const CheckRequest& request = requests[i];
    if (!watch_.picks(request.tenant, answer->parts[i], request.trace, std::nullopt)) continue;
    const std::string_view tenant =
        joint ? planner_.tenant_of(request, joint->parts[i].first_policy) : planner_.tenant_of(request);
    tell(texts_of(request, tenant), answer->parts[i], &answer->overall, std::nullopt);
  }
}

void Engine::tell_late(PendingCheck& pending, const Answer& answer) {
  if (!answer || pending.texts.size() == 0) return;
  const AskedTexts asked = pending.texts[0];
  if (watch_.picks(asked.tenant, *answer, asked.trace, pending.took_ns))
    tell(asked, *answer, nullptr, pending.took_ns);
}

void Engine::tell_late(PendingCheck& pending, const Result<JointDecision>& answer) {
  if (!answer) return;
  for (std::size_t i = 0; i < pending.texts.size(); ++i) {
    const AskedTexts asked = pending.texts[i];
    const Decision& part = answer->parts[i];
    if (watch_.picks(asked.tenant, part, asked.trace, pending.took_ns))
      tell(asked, part, &answer->overall, pending.took_ns);
  }
}

}  // namespace sluice

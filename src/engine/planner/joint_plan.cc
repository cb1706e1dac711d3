#include "engine/planner/joint_plan.h"

#include <algorithm>
#include <cassert>
#include <string>

#include "policy/snapshot/limits_per_request.h"

namespace sluice {
namespace {

bool is_stricter(const LimitParams& a, const LimitParams& b) {
  __extension__ using Wide = unsigned __int128;
  const auto times = [](std::int64_t count, std::int64_t period_us) {
    return static_cast<Wide>(count) * static_cast<Wide>(period_us);
  };
  const Wide rate_a = times(a.rate.count, b.rate.period_us), rate_b = times(b.rate.count, a.rate.period_us);
  return rate_a != rate_b ? rate_a < rate_b : a.capacity < b.capacity;
}

// One step on long logs would make the store late for everybody.
std::int64_t log_entries(const Plan& plan) {
  std::int64_t entries = 0;
  for (std::size_t i = 0; i < plan.size; ++i)
    if (plan.limits[i].numbers->algorithm == Algorithm::kSlidingLog)
      entries += plan.limits[i].numbers->capacity;
  return entries;
}

// Merges the charge at `from` into the one at `to`, which is on the same counter.
void merge(Plan& plan, std::size_t from, std::size_t to, std::int64_t cost_max) {
  const std::int64_t cost = std::min(plan.charges[to].cost + plan.charges[from].cost, cost_max);
  if (is_stricter(*plan.limits[from].numbers, *plan.limits[to].numbers)) {
    plan.charges[to] = plan.charges[from];
    plan.limits[to] = plan.limits[from];
    plan.limits[to].result = &plan.results[to];
  }
  plan.charges[to].cost = cost;
}

// The store needs distinct counters. Merges the charges from `first_new` on into earlier ones on the same
// counter, and records where each is now.
void put_together(Plan& plan, std::size_t first_new, std::int64_t cost_max, Positions* positions) {
  const std::size_t end = plan.size;
  plan.size = first_new;
  for (std::size_t from = first_new; from < end; ++from) {
    const auto known = plan.charges.begin() + static_cast<std::ptrdiff_t>(first_new);
    const auto same = std::find_if(plan.charges.begin(), known, [&](const Charge& charge) {
      return charge.key == plan.charges[from].key;
    });
    const bool is_known = same != known;
    const std::size_t to = is_known ? static_cast<std::size_t>(same - plan.charges.begin()) : plan.size++;
    if (positions) positions->add(to, plan.limits[from], plan);
    if (is_known) {
      merge(plan, from, to, cost_max);
    } else if (to != from) {
      plan.charges[to] = plan.charges[from];
      plan.limits[to] = plan.limits[from];
      plan.limits[to].result = &plan.results[to];
    }
  }
}

void charge_more_than_fits(Plan& plan, std::size_t first) {
  for (std::size_t i = first; i < plan.size; ++i) plan.charges[i].cost = kCostNever;
}

}  // namespace

Error in_request(std::size_t i, Error error) {
  error.item = static_cast<std::uint32_t>(i);
  return error;
}

[[gnu::noinline]] void Positions::list(std::size_t position, const LimitStatus& own, const Plan& plan) {
  if (list_.empty())
    for (std::size_t i = 0; i < size_; ++i) list_.push_back({i, plan.limits[i]});
  list_.push_back({position, own});
}

const CompiledPolicy* JointPlan::first_policy() const {
  for (const Part& part : parts)
    if (part.first_policy) return part.first_policy;
  return nullptr;
}

Result<void> plan_together(Planner& planner, std::span<const CheckRequest> requests, Purpose purpose,
                           JointPlan& out) {
  out.parts.clear();
  out.enforced.clear();
  out.shadow.clear();
  planner.clear();
  const std::int64_t cost_max = purpose == Purpose::kAmend ? kCostMax : kCostNever;
  Plan &enforced = planner.enforced(), &shadow = planner.shadow(), &comparison = planner.comparison();
  for (std::size_t i = 0; i < requests.size(); ++i) {
    const std::size_t first_enforced = enforced.size, first_shadow = shadow.size,
                      first_compared = comparison.size;
    if (auto planned = planner.add(requests[i], purpose); !planned)
      return std::unexpected(in_request(i, std::move(planned.error())));
    if (requests[i].numbers.params != 0) planner.take_given_numbers(requests[i], first_enforced);
    if (requests[i].fits_nowhere) [[unlikely]] {
      assert(purpose == Purpose::kCheck);
      charge_more_than_fits(enforced, first_enforced);
      charge_more_than_fits(shadow, first_shadow);
      charge_more_than_fits(comparison, first_compared);
    }
    put_together(enforced, first_enforced, cost_max, &out.enforced);
    if (shadow.size != first_shadow) put_together(shadow, first_shadow, cost_max, &out.shadow);
    if (comparison.size != first_compared) put_together(comparison, first_compared, cost_max, nullptr);
    out.parts.push_back({planner.first_policy(), out.enforced.size(), out.shadow.size()});
  }
  if (log_entries(enforced) > static_cast<std::int64_t>(kLogEntriesPerCheckMax)) [[unlikely]]
    return invalid("", "these checks could use more than " + std::to_string(kLogEntriesPerCheckMax) +
                           " entries of sliding_logs together; send them in several calls, or use smaller "
                           "logs, or sliding_window");
  return {};
}

[[gnu::noinline]] std::span<LimitStatus> JointExplainer::gather(const Answered& all,
                                                                const Positions& positions, std::size_t begin,
                                                                std::size_t end) {
  const std::size_t first = limits_.size();
  for (std::size_t i = begin; i < end; ++i) {
    LimitStatus& status = limits_.emplace_back(positions.own(i));
    status.result = all.limits[positions[i]].result;
    if (status.result->outcome.remaining <= status.numbers->capacity) continue;
    ChargeResult& own = results_.emplace_back(*status.result);
    own.outcome.remaining = status.numbers->capacity;
    status.result = &own;
  }
  return std::span(limits_).subspan(first);
}

inline Answered JointExplainer::part_of(const Answered& all, const Positions& positions, std::size_t begin,
                                        std::size_t end) {
  if (begin == end) return {};
  Answered part{all.charges.subspan(positions[begin], 1), {}, all.verdict};
  if (all.limits.empty()) return part;  // decided without results
  part.limits =
      positions.in_a_row() ? all.limits.subspan(begin, end - begin) : gather(all, positions, begin, end);
  const auto is_denied = [](const LimitStatus& status) { return !status.result->outcome.allowed; };
  if (part.verdict == Verdict::kDenied && std::ranges::none_of(part.limits, is_denied))
    part.verdict = Verdict::kAllowed;
  if (part.verdict == Verdict::kPartlyCounted && std::ranges::none_of(part.limits, &was_passed_over))
    part.verdict = Verdict::kAllowed;
  return part;
}

std::span<const Decision> JointExplainer::explain_parts(const JointPlan& plan, const Answered& enforced,
                                                        const Answered& shadow, const Decision& overall,
                                                        const FailureRule& failure_rule,
                                                        Unmatched unmatched) {
  limits_.clear();
  results_.clear();
  if (!plan.enforced.in_a_row() || !plan.shadow.in_a_row())
    limits_.reserve(plan.enforced.size() + plan.shadow.size());  // spans of it stay valid
  parts_.clear();
  std::size_t enforced_begin = 0, shadow_begin = 0;
  for (const JointPlan::Part& part : plan.parts) {
    Decision& decision = parts_.emplace_back();
    const Answered mine = part_of(enforced, plan.enforced, enforced_begin, part.enforced_end);
    enforced_begin = part.enforced_end;
    if (!is_answer(mine.verdict)) [[unlikely]] {
      decision.policy = part.first_policy;
      decision.cost = mine.charges.front().cost;
      decision.degraded = true;
      decision.reason = overall.reason;  // the rule that decided
      decision.allowed = failure_rule.allows(mine.limits, overall);
    } else {
      explain(part.first_policy, mine, overall.now_us, decision);
      explain_unmatched(unmatched, decision);
    }
    if (part.shadow_end == shadow_begin) [[likely]]
      continue;
    add_shadow(part_of(shadow, plan.shadow, shadow_begin, part.shadow_end), decision);
    shadow_begin = part.shadow_end;
  }
  return parts_;
}

std::span<const Decision> JointExplainer::repeat(const Decision& decision, std::size_t times) {
  parts_.assign(times, decision);
  return parts_;
}

}  // namespace sluice

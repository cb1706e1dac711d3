#pragma once

#include <sluice/limiter.h>

#include <chrono>
#include <cstdint>
#include <optional>
#include <string_view>

#include "client/lease_table.h"
#include "client/lease_terms.h"

// Answers to checks that this process gives itself, without the server.
namespace sluice {

inline constexpr std::string_view kUnreachableReason = "server_unreachable";

// No server answers: the failure rule decides.
Answer unreachable_answer(bool allows, std::string_view why);
Answer closed_answer();

struct DecidedHere {
  bool is_decided = false;   // false: ask the owner
  bool wakes_owner = false;  // units run low
};

// Decides a check from the key's units. Thread-safe, and allocates nothing, unless no server answers.
// REQUIRES: found is not null; the cost is positive, if there is one
inline DecidedHere decide_here(const LeaseTable& table, const LeaseTable::Found& found,
                               const std::optional<std::int64_t>& cost, std::int64_t now_us,
                               bool allows_unreachable, Answer& answer) {
  // The terms are set before the units come, so a cost that the policy decides is known when it is needed.
  const LeaseTerms* terms = table.terms(found);
  if (terms == nullptr) return {};
  const std::int64_t units = cost ? *cost : terms->check_cost;
  if (units == 0) return {};
  LeaseBucket& bucket = *found.bucket;
  const LeaseBucket::Spend spend = bucket.spend(units, now_us, found.generation);
  if (!spend.spent) [[unlikely]] {
    const LeaseBucket::Empty why = bucket.why_empty(now_us);
    const std::int64_t denied_us = bucket.denied_until_us() - now_us;
    if (!found.is_current() || why == LeaseBucket::Empty::kAsking) return {false, spend.wakes_owner};
    if (why == LeaseBucket::Empty::kServerGone) {
      // The first who finds nothing tells the owner, who may have a safe capacity.
      if (!spend.wakes_owner) answer = unreachable_answer(allows_unreachable, "the server does not answer");
      return {!spend.wakes_owner, spend.wakes_owner};
    }
    answer.reason = "limited";
    answer.retry_after = std::chrono::milliseconds((denied_us + 999) / 1000);
  } else {
    answer.allowed = true;
    answer.degraded = spend.is_safe;
    answer.remaining = bucket.left();
  }
  answer.leased = true;
  answer.limit = terms->limit;
  answer.limit_name = terms->limit_name;
  answer.policy_version = terms->policy_version;
  return {true, spend.wakes_owner};
}

}  // namespace sluice

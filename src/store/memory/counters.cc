#include "store/memory/counters.h"

#include <algorithm>
#include <array>
#include <cassert>

#include "base/limits.h"

namespace sluice {

Verdict apply_lease(Counters& counters, std::span<const Charge> charges, std::span<ChargeResult> results,
                    std::int64_t& granted, std::int64_t& now_us) {
  assert(!charges.empty() && charges.size() <= kLimitsPerCheckMax);
  std::array<Charge, kLimitsPerCheckMax> copies;
  std::ranges::copy(charges, copies.begin());
  const std::span tried(copies.data(), charges.size());
  const auto apply = [&](std::int64_t units) {
    for (Charge& charge : tried) charge.cost = units;
    return counters.apply(tried, results, now_us);
  };
  // A look first: a denial leaves a trace in a leaky_bucket.
  granted = 0;
  Verdict verdict = apply(0);
  for (std::int64_t most = charges.front().cost; most > 0;) {
    if (verdict != Verdict::kAllowed && verdict != Verdict::kDenied) return verdict;
    std::int64_t units = most;
    for (const ChargeResult& result : results) units = std::min(units, result.outcome.remaining);
    units = std::max<std::int64_t>(units, 1);
    verdict = apply(units);
    if (verdict == Verdict::kAllowed) granted = units;
    if (verdict == Verdict::kAllowed || units == 1) break;
    most = units - 1;
  }
  return verdict;
}

}  // namespace sluice

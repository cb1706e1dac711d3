#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "algorithm/limit_params.h"
#include "base/boxed.h"
#include "base/interned.h"
#include "base/sparse_map.h"

// The policy document as its author wrote it, after validation. Plain values; docs/policies.md explains each
// field.
namespace sluice {

// What happens to usage so far when a new version of the policy changes the numbers of a limit.
enum class OnChange : std::uint8_t {
  kKeep,          // 60 of 100 used, now 200: 60 of 200
  kProportional,  // 120 of 200
  kReset,         // 0 of 200: such a version uses its own counters
};

// One rule over one kind of key: which dimensions make the key, which algorithm, which numbers.
struct Limit {
  std::string name;  // unique within the policy; reported as `limiting`
  Interned<std::vector<std::string>>
      per;  // dimensions that make the key; sorted, distinct; empty: one counter for all
  LimitParams params;
  bool required = false;      // a request without one of the dimensions is an error; else it skips the limit
  bool count_denied = false;  // denied requests are charged, too
  OnChange on_change = OnChange::kKeep;
  friend bool operator==(const Limit&, const Limit&) = default;
};

// The largest possible numbers stand for "no limit": a rule for one tier leaves all other tiers like this.
LimitParams no_limit();
bool is_no_limit(const LimitParams& params);

enum class OnFailure : std::uint8_t { kOpen, kClosed, kLocal };

struct Rollout {
  int percent = 100;               // share of keys, chosen by a stable hash, to which the policy applies
  std::int64_t valid_from_us = 0;  // before this instant the policy does not apply
  friend bool operator==(const Rollout&, const Rollout&) = default;
};

// A list of limits and the requests that they apply to.
struct Policy {
  std::string id;
  std::int64_t version = 1;                    // grows by one with every change of the document
  std::string tenant;                          // empty: any
  std::string resource;                        // pattern; empty: any
  std::vector<Limit> limits;                   // all must have room; charged together or not at all
  SparseMap<std::string, std::int64_t> costs;  // cost by resource, for requests without a cost
  // The complete limits of a tier, with its overrides applied.
  SparseMap<std::string, std::vector<Limit>> tiers;
  OnFailure on_failure = OnFailure::kOpen;
  Boxed<LimitParams> local;           // numbers of the local limiter of OnFailure::kLocal
  std::int64_t deadline_us = 10'000;  // after this time the failure rule decides
  std::int64_t idempotency_ttl_us = 600'000'000;
  bool shadow = false;  // decides and counts, never denies
  bool always = false;  // applies in addition to the most specific policy
  Rollout rollout;
  std::string owner;

  friend bool operator==(const Policy&, const Policy&) = default;
};

}  // namespace sluice

#pragma once

#include <compare>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/secret/hash.h"
#include "base/trace_context.h"
#include "engine/decision/decision.h"

namespace sluice {

// Where a decision stands in the record of a node: later ones are greater. A page of the record ends at one.
struct DecisionPlace {
  std::int64_t at_us = 0;
  std::uint64_t number = 0;  // of this node's decisions, unique

  friend auto operator<=>(const DecisionPlace&, const DecisionPlace&) = default;
};

// A decision as it is remembered. A plain value.
struct KnownDecision {
  DecisionPlace place;
  std::string tenant, key, policy_id, limit, resource, request_id;
  std::vector<std::pair<std::string, std::string>> dimensions;
  TraceContext trace;  // without an id: none
  KeyHash key_hash;    // to find it by its key, which may not be shown
  std::int64_t policy_version = 0;
  std::int64_t cost = 0, capacity = 0, remaining = 0, retry_after_ms = 0;
  Reason reason = Reason::kOk;
  bool allowed = true, degraded = false;

  // How much memory it takes.
  std::size_t bytes() const;
};

struct DecisionQuery {
  enum class Result : std::uint8_t { kAny, kAllowed, kDenied, kDegraded };
  Result result = Result::kAny;
  std::string_view policy_id;                               // empty: all
  std::optional<KeyHash> key_hash;                          // DecisionRecord::hash_of_key()
  std::function<bool(std::string_view tenant)> of_tenant;   // empty: all
  std::int64_t since_us = INT64_MIN, until_us = INT64_MAX;  // both included
  std::optional<DecisionPlace> before;                      // only older ones
  std::size_t most = 100;

  bool wants(const KnownDecision& decision) const;
};

}  // namespace sluice

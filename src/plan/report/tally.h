#pragma once

#include <boost/unordered/unordered_flat_map.hpp>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/secret/hash.h"
#include "engine/decision/decision.h"
#include "plan/log/traffic_entry.h"
#include "plan/report/shown_values.h"
#include "plan/report/timeline.h"

namespace sluice::plan {

// The sums of a replay. requests = refused + no_policy + allowed + denied.
struct Totals {
  std::uint64_t requests = 0;
  std::uint64_t refused = 0;    // the server would have returned an error: a key too long, …
  std::uint64_t no_policy = 0;  // allowed, because no policy matched
  std::uint64_t allowed = 0;    // by a policy
  std::uint64_t denied = 0;
  std::uint64_t denied_then = 0;    // by the server at that time or, when comparing, by the other policies
  std::uint64_t newly_denied = 0;   // denied now, but not then
  std::uint64_t newly_allowed = 0;  // denied then, but not now
  std::int64_t first_us = 0;
  std::int64_t last_us = 0;
};

// When something happened, and how often.
struct Happened {
  std::uint64_t denied = 0;
  std::uint64_t newly_denied = 0;
  std::int64_t first_us = 0;
  std::int64_t last_us = 0;

  void add(std::int64_t at_us, bool newly) {
    if (denied++ == 0) first_us = at_us;
    newly_denied += newly;
    last_us = at_us;
  }
};

// The denials of one limit: those for which it had the longest wait.
struct LimitTally {
  const CompiledPolicy* policy = nullptr;
  const CompiledLimit* limit = nullptr;
  Happened happened;
  std::uint64_t keys = 0;
  PeakWindow seconds;
  PeakWindow minutes;
};

// One key of one limit. Requests count as asked whether they were allowed or not.
struct KeyTally {
  PeakWindow asked;  // in windows as long as the limit's period
  Happened happened;
  std::uint32_t limit = 0;  // in Tally::limits()
  std::uint32_t label = 0;  // in Tally::labels(); valid once it was denied
};

struct ResourceTally {
  std::uint64_t requests = 0;
  std::uint64_t denied = 0;
  std::uint64_t newly_denied = 0;
};

// Sums up the decisions of a replay. Not thread-safe. Memory is bounded: beyond kPlanKeysMax keys, only known
// ones are tracked; beyond kPlanResourcesMax resources, the rest is counted together.
class Tally {
 public:
  // Both must outlive this object.
  Tally(const KeyHasher& hasher, const ShownValues& shown) : hasher_(hasher), shown_(shown) {}

  // REQUIRES: at_us never goes back. The decision is not needed after this call.
  void add(std::int64_t at_us, const CheckRequest& request, const Result<Decision>& decision,
           bool denied_then);

  const Totals& totals() const { return totals_; }
  const Timeline& timeline() const { return timeline_; }
  const std::vector<LimitTally>& limits() const { return limits_; }
  struct TextHash {
    using is_transparent = void;
    std::size_t operator()(std::string_view text) const { return std::hash<std::string_view>()(text); }
  };
  struct Spread {  // the key is already a hash
    std::size_t operator()(const KeyHash& key) const { return key.low; }
  };
  using KeyMap = boost::unordered_flat_map<KeyHash, KeyTally, Spread>;
  using ResourceMap = boost::unordered_flat_map<std::string, ResourceTally, TextHash, std::equal_to<>>;

  const KeyMap& keys() const { return keys_; }
  const std::vector<std::string>& labels() const { return labels_; }
  const ResourceMap& resources() const { return resources_; }
  // The error of the first refused request; empty: there was none.
  const std::string& first_refusal() const { return first_refusal_; }
  bool keys_are_complete() const { return keys_are_complete_; }

 private:
  std::uint32_t number_of(const LimitStatus& status);
  KeyTally* follow(const Dimensions& dimensions, const LimitStatus& status);
  void add_limits(std::int64_t at_us, const CheckRequest& request, const Decision& decision, bool newly);
  void add_resource(std::string_view resource, bool denied, bool newly);
  std::string label_of(const Dimensions& dimensions, const CompiledLimit& limit) const;

  const KeyHasher& hasher_;
  const ShownValues& shown_;
  Totals totals_;
  Timeline timeline_;
  std::vector<LimitTally> limits_;
  boost::unordered_flat_map<const CompiledLimit*, std::uint32_t> numbers_;
  KeyMap keys_;
  std::vector<std::string> labels_;
  ResourceMap resources_;
  std::string first_refusal_;
  bool keys_are_complete_ = true;
};

}  // namespace sluice::plan

#pragma once

#include <boost/unordered/unordered_flat_map.hpp>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/hash.h"
#include "engine/decision.h"
#include "plan/shown_values.h"
#include "plan/timeline.h"
#include "plan/traffic_entry.h"

namespace sluice::plan {

// The sums of a replay. requests = refused + no_policy + allowed + denied.
struct Totals {
  std::uint64_t requests = 0;
  std::uint64_t refused = 0;    // the server would have answered with an error: a key too long, …
  std::uint64_t no_policy = 0;  // allowed, since nothing is said about them
  std::uint64_t allowed = 0;    // by a policy
  std::uint64_t denied = 0;
  std::uint64_t denied_then = 0;    // by the server of that day or, when comparing, by the other policies
  std::uint64_t newly_denied = 0;   // denied, and not then
  std::uint64_t newly_allowed = 0;  // denied then, and now not
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

// One limit's denials: those for which it had the longest wait.
struct LimitTally {
  const CompiledPolicy* policy = nullptr;
  const CompiledLimit* limit = nullptr;
  Happened happened;
  std::uint64_t keys = 0;
  PeakWindow seconds;
  PeakWindow minutes;
};

// One key of one limit. What it asked for counts whether it got it or not.
struct KeyTally {
  PeakWindow asked;  // in windows as long as the limit's period
  Happened happened;
  std::uint32_t limit = 0;  // in Tally::limits()
  std::uint32_t label = 0;  // in Tally::labels(); good once denied
};

struct ResourceTally {
  std::uint64_t requests = 0;
  std::uint64_t denied = 0;
  std::uint64_t newly_denied = 0;
};

// Adds up what a replay decides. Not thread-safe. Memory is bounded: beyond kPlanKeysMax keys only those
// known are followed, beyond kPlanResourcesMax resources the rest is counted together.
class Tally {
 public:
  // Both outlive it.
  Tally(const KeyHasher& hasher, const ShownValues& shown) : hasher_(hasher), shown_(shown) {}

  // REQUIRES: at_us never goes back. The decision may go after this.
  void add(std::int64_t at_us, const CheckRequest& request, const Result<Decision>& decision,
           bool denied_then);

  const Totals& totals() const { return totals_; }
  const Timeline& timeline() const { return timeline_; }
  const std::vector<LimitTally>& limits() const { return limits_; }
  struct TextHash {
    using is_transparent = void;
    std::size_t operator()(std::string_view text) const { return std::hash<std::string_view>()(text); }
  };
  struct Spread {  // the hash is a hash already
    std::size_t operator()(const KeyHash& key) const { return key.low; }
  };
  using KeyMap = boost::unordered_flat_map<KeyHash, KeyTally, Spread>;
  using ResourceMap = boost::unordered_flat_map<std::string, ResourceTally, TextHash, std::equal_to<>>;

  const KeyMap& keys() const { return keys_; }
  const std::vector<std::string>& labels() const { return labels_; }
  const ResourceMap& resources() const { return resources_; }
  // What one refused request was told; empty: there was none.
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

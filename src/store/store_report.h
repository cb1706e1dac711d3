#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace sluice {

// Metrics of a store, in the order in which they are shown. Plain data.
//
//   metrics.add({Kind::kCounter, "rate_limiter_shed_total", "Checks refused, by reason.",
//                {{{"reason", "queue_full"}, shed_queue_full},
//                 {{"reason", "caller_deadline"}, shed_caller}}});
//
// Reports of several loops are added up, and so are families of several stores that have the same name.
class StoreMetrics {
 public:
  enum class Kind : std::uint8_t { kCounter, kGauge };
  // All texts are literals: only views of them are kept.
  struct Label {
    std::string_view name, value;
    friend bool operator==(const Label&, const Label&) = default;
  };
  struct Sample {
    Label label;  // empty: none
    std::uint64_t value = 0;
  };
  struct Family {
    Kind kind;
    std::string_view name;
    std::string_view help;
    std::vector<Sample> samples;
  };

  void add(Family family) {
    const auto known = std::ranges::find(families_, family.name, &Family::name);
    if (known == families_.end()) return families_.push_back(std::move(family));
    for (const Sample& sample : family.samples) {
      const auto same = std::ranges::find(known->samples, sample.label, &Sample::label);
      if (same == known->samples.end())
        known->samples.push_back(sample);
      else
        same->value += sample.value;
    }
  }
  // A family of one sample without a label.
  void add(Kind kind, std::string_view name, std::string_view help, std::uint64_t value) {
    add({kind, name, help, {{{}, value}}});
  }
  StoreMetrics& operator+=(const StoreMetrics& other) {
    for (const Family& family : other.families_) add(family);
    return *this;
  }

  const std::vector<Family>& families() const { return families_; }
  bool empty() const { return families_.empty(); }

 private:
  std::vector<Family> families_;
};

// What the answers of one of a store's servers reveal about it; unset before the first. Plain data.
struct StoreServer {
  std::string name;                           // its address
  std::optional<std::int64_t> ahead_us;       // how far its clock is ahead of ours
  bool left_out = false;                      // because of its clock
  std::optional<std::int64_t> round_trip_us;  // the fastest of the last seconds
  bool is_late = false;                       // most answers miss the deadlines of their checks
  bool is_full = false;                       // it had no memory for a new counter lately
};

// A store's report on itself, see Store::report(). Plain data.
struct StoreReport {
  StoreMetrics metrics;
  std::vector<StoreServer> servers;
};

}  // namespace sluice

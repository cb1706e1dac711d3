#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <optional>
#include <string_view>

#include "algorithm/limit_params.h"
#include "base/duration_histogram.h"

namespace sluice {

enum class CheckResult : std::uint8_t { kAllowed, kDenied, kError };
inline constexpr std::size_t kCheckResults = 3;

// Why limits did not decide a check as usual.
enum class CheckError : std::uint8_t {
  kNone,
  kStoreUnavailable,
  kStoreFull,
  kSwitch,
  kTenantMoving,
  kPoliciesUnavailable,
  kInvalid,
  kNotFound,
  kConflict,
  kOverloaded,
  kOther,
};
inline constexpr std::size_t kCheckErrors = 11;

std::string_view to_string(CheckResult result);  // "allowed", …
std::string_view to_string(CheckError error);    // "none", "store_unavailable", …

// One thread's counters of how checks ended and how long they took, by the algorithm of the limit that
// decided. Its own thread writes them, without locks and without reading a clock for most checks; any thread
// may read them.
//
// A check that is decided at once takes well under a microsecond, and reading a clock is a good part of that.
// So one of kTimedOneIn such checks is timed, and those until the next one are counted as if they had taken
// the same time. Counts are exact; how they spread over the buckets is sampled.
class CheckMeter {
 public:
  static constexpr std::uint32_t kTimedOneIn = 16;
  // An algorithm, or none: no limit decided.
  static constexpr std::size_t kSlots = 7;
  static constexpr std::size_t kNoAlgorithm = kSlots - 1;
  static constexpr std::size_t slot_of(Algorithm algorithm) { return static_cast<std::size_t>(algorithm); }

  struct Sum {
    std::array<std::array<std::uint64_t, kCheckResults * kCheckErrors>, kSlots> ends{};
    std::array<DurationHistogram, kSlots> latency;

    Sum& operator+=(const Sum& other);
    std::uint64_t count(std::size_t slot, CheckResult result, CheckError error) const {
      return ends[slot][place(result, error)];
    }
  };

  // Whether the check that begins now should be timed.
  bool picks() {
    if (--until_timed_ > 0) [[likely]]
      return false;
    until_timed_ = kTimedOneIn;
    return true;
  }
  // A check has ended. Without a time: it took as long as the last one that was timed.
  void add(std::size_t slot, CheckResult result, CheckError error, std::optional<std::int64_t> took_ns) {
    Cells& cells = cells_[slot];
    add(cells.ends[place(result, error)], 1);
    if (took_ns) [[unlikely]]
      cells.note(*took_ns);
    add(cells.latency[cells.last_bucket], 1);
    add(cells.sum_ns, cells.last_ns);
  }

  void add_to(Sum& sum) const;

 private:
  using Cell = std::atomic<std::uint64_t>;
  struct Cells {
    std::array<Cell, kCheckResults * kCheckErrors> ends{};
    std::array<Cell, DurationHistogram::kBuckets> latency{};
    Cell sum_ns{0};
    // Of the last check that was timed. Only the own thread uses them.
    std::uint64_t last_ns = 0;
    std::size_t last_bucket = 0;

    void note(std::int64_t took_ns) {
      last_ns = took_ns > 0 ? static_cast<std::uint64_t>(took_ns) : 0;
      last_bucket = DurationHistogram::bucket_of(took_ns);
    }
  };

  static constexpr std::size_t place(CheckResult result, CheckError error) {
    return static_cast<std::size_t>(error) * kCheckResults + static_cast<std::size_t>(result);
  }
  // Only one thread writes, so a load and a store are enough.
  static void add(Cell& cell, std::uint64_t n) {
    cell.store(cell.load(std::memory_order_relaxed) + n, std::memory_order_relaxed);
  }

  std::uint32_t until_timed_ = 1;
  std::array<Cells, kSlots> cells_;
};

}  // namespace sluice

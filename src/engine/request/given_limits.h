#pragma once

#include <atomic>
#include <boost/unordered/unordered_flat_map.hpp>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "base/limits.h"
#include "base/mutex.h"
#include "base/text/text_hash.h"
#include "engine/request/check_request.h"
#include "store/params_table.h"

namespace sluice {

// A limit that comes with a request instead of a policy.
struct GivenLimit {
  Algorithm algorithm;
  Rate rate;
  std::optional<std::int64_t> burst;
  friend bool operator==(const GivenLimit&, const GivenLimit&) = default;
};

// How many different limits there may be. Tests use other values.
struct GivenLimitsBounds {
  std::size_t distinct_max = kGivenLimitsMax;
  std::size_t share = kGivenLimitsShare;
};

// The limits that have come with requests so far: Envoy's overrides, CL.THROTTLE. Thread-safe.
//
//   auto numbers = limits.find(limit);                  // every request: no lock
//   if (!numbers) numbers = limits.add(limit, owner);   // only for a new limit
//
// Callers may put any number into a request, and a ParamsTable never forgets one, because counters hold its
// ids. So their number is bounded, and a caller that sends many must harm only itself. A new limit is charged
// to the caller that sends it first, and no caller may have sent more than a sixteenth of what the others
// have left: 4,096 for a single caller, less the more such callers there are. There is always room for the
// next caller, which no fixed share could promise. Limits that are known are free for everyone and keep
// working, whatever others do.
class GivenLimits {
 public:
  // REQUIRES: params outlives it.
  explicit GivenLimits(ParamsTable& params, GivenLimitsBounds bounds = {});
  GivenLimits(const GivenLimits&) = delete;
  GivenLimits& operator=(const GivenLimits&) = delete;

  // nullopt if the limit is new.
  std::optional<GivenNumbers> find(const GivenLimit& limit) const;

  // `owner` identifies the caller by something that callers cannot choose: not the domain of a request.
  // kInvalidArgument: the numbers are invalid, or the owner's share is used up.
  Result<GivenNumbers> add(const GivenLimit& limit, std::string_view owner);

 private:
  struct Known {
    GivenLimit limit;
    ParamsId params;
  };
  // A hash table with linear probing, at most half full. Slots are only ever filled, so that readers need no
  // lock: one that misses a new limit comes to add(), which finds it.
  struct Table {
    explicit Table(std::size_t slot_count);
    // Where the limit is, or the empty slot where it belongs.
    std::atomic<const Known*>& slot_of(const GivenLimit& limit, std::uint64_t hash) const;

    const std::size_t mask;  // the number of slots is a power of two
    const std::unique_ptr<std::atomic<const Known*>[]> slots;
  };

  std::uint64_t hash_of(const GivenLimit& limit) const;
  GivenNumbers numbers(ParamsId id) const { return {id, &params_[id]}; }
  bool has_room(std::size_t brought) const SLUICE_REQUIRES(mutex_);
  void insert(const GivenLimit& limit, ParamsId id) SLUICE_REQUIRES(mutex_);

  ParamsTable& params_;
  const GivenLimitsBounds bounds_;
  const std::uint64_t seed_;  // secret, because callers choose what is hashed
  std::atomic<const Table*> table_;
  Mutex mutex_;
  std::deque<Known> known_ SLUICE_GUARDED_BY(mutex_);  // they never move
  // The last one is in use. Readers may still be in an earlier one; all of those together are smaller.
  std::vector<std::unique_ptr<const Table>> tables_ SLUICE_GUARDED_BY(mutex_);
  // How many limits each owner was the first to send; entries are never 0.
  boost::unordered_flat_map<std::string, std::size_t, TextHash, std::equal_to<>> brought_
      SLUICE_GUARDED_BY(mutex_);
};

}  // namespace sluice

#pragma once

#include <boost/unordered/unordered_flat_map.hpp>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>

#include "base/error.h"
#include "base/limits.h"
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
//   auto numbers = limits.find(limit);                  // every request: one lock, one lookup
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
  explicit GivenLimits(ParamsTable& params, GivenLimitsBounds bounds = {})
      : params_(params), bounds_(bounds) {}
  GivenLimits(const GivenLimits&) = delete;
  GivenLimits& operator=(const GivenLimits&) = delete;

  // nullopt if the limit is new.
  std::optional<GivenNumbers> find(const GivenLimit& limit) const;

  // `owner` identifies the caller by something that callers cannot choose: not the domain of a request.
  // kInvalidArgument: the numbers are invalid, or the owner's share is used up.
  Result<GivenNumbers> add(const GivenLimit& limit, std::string_view owner);

 private:
  struct Hash {
    std::size_t operator()(const GivenLimit& limit) const;
  };
  GivenNumbers numbers(ParamsId id) const { return {id, &params_[id]}; }
  // REQUIRES: mutex_ is held.
  bool has_room(std::size_t brought) const;

  ParamsTable& params_;
  const GivenLimitsBounds bounds_;
  mutable std::mutex mutex_;
  boost::unordered_flat_map<GivenLimit, ParamsId, Hash> known_;  // guarded by mutex_
  // How many limits each owner was the first to send; entries are never 0. Guarded by mutex_.
  boost::unordered_flat_map<std::string, std::size_t, TextHash, std::equal_to<>> brought_;
};

}  // namespace sluice

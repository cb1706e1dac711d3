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
#include "engine/check_request.h"
#include "policy/text_hash.h"
#include "store/params_table.h"

namespace sluice {

// A limit that a request brings along instead of naming a policy's.
struct GivenLimit {
  Algorithm algorithm;
  Rate rate;
  std::optional<std::int64_t> burst;
  friend bool operator==(const GivenLimit&, const GivenLimit&) = default;
};

// How many different ones there may be. Others only in tests.
struct GivenLimitsBounds {
  std::size_t distinct_max = kGivenLimitsMax;
  std::size_t share = kGivenLimitsShare;
};

// The limits that requests have brought along so far: Envoy's overrides, CL.THROTTLE. Thread-safe.
//
//   auto numbers = limits.find(limit);                      // every request: one lock, one look
//   if (!numbers) numbers = limits.add(limit, who_it_is);   // only who brings a new one
//
// Whoever may ask may write any number into a request, and a ParamsTable forgets none: counters hold its
// ids. So there are only so many, and whoever brings many must hurt only himself. A new limit counts for the
// one who brings it first, and nobody may have brought more than a sixteenth of what the others have left:
// 4,096 if he is alone, and less the more there are like him; but there is always room for the next one, as
// no fixed share could promise. Limits that are known cost nobody anything, and go on whatever others do.
class GivenLimits {
 public:
  // REQUIRES: params outlives it.
  explicit GivenLimits(ParamsTable& params, GivenLimitsBounds bounds = {})
      : params_(params), bounds_(bounds) {}
  GivenLimits(const GivenLimits&) = delete;
  GivenLimits& operator=(const GivenLimits&) = delete;

  // Nothing: it is a new one.
  std::optional<GivenNumbers> find(const GivenLimit& limit) const;

  // `bringer` tells callers apart, and must be nothing that they can choose: not the domain of a request.
  // kInvalidArgument: the numbers cannot be, or the bringer's share is used up.
  Result<GivenNumbers> add(const GivenLimit& limit, std::string_view bringer);

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
  // How many each was the first to bring; nobody is here without one. Guarded by mutex_.
  boost::unordered_flat_map<std::string, std::size_t, TextHash, std::equal_to<>> brought_;
};

}  // namespace sluice

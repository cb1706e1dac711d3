#pragma once

#include <boost/unordered/unordered_flat_map.hpp>
#include <cstdint>
#include <vector>

#include "store/async_store.h"
#include "store/params_table.h"
#include "store/redis/batch.h"

namespace sluice {

// How much work calls make for a Redis server, so that whoever shares the server out shares out its time, not
// a number of calls. Not thread-safe.
//
// The unit is one more check on one bucket or window in a batch: some 3 µs of the server's. Measured on Redis
// 7.0: each limit of a check on several 5 µs, a request id 7 µs more, a sliding_log 12 µs and a third of a
// microsecond for each of its entries. So a full log of 4,096 is as much as 400 others.
//
// How long a log is, the server says with each answer. That is remembered for the keys that were asked last;
// of others it is taken to be the average of those under the same numbers, and the longest possible before
// the first was heard of.
class RedisWork {
 public:
  explicit RedisWork(const ParamsTable& params) : params_(params) {}

  std::uint32_t of(const StoreCall& call) const;

  // A batch was answered.
  void hear(const Batch& batch);

 private:
  static constexpr std::size_t kLogsRemembered = 4'096, kAveragesMax = 4'096;  // 64 KiB, if there are logs
  static constexpr std::uint32_t kPerEntry = 2, kPerRequestId = 2, kPerLog = 3, kEntriesOfOneUnit = 10;

  struct Length {
    std::uint64_t key = 0;  // a half of it: who meets by chance is weighed wrongly, and no more
    std::uint32_t entries = 0;
  };
  static std::size_t place_of(const KeyHash& key) { return key.low % kLogsRemembered; }
  std::uint32_t entries_of_log(const Charge& charge) const;

  const ParamsTable& params_;
  std::vector<Length> lengths_;  // by place_of(); empty until there is a log
  boost::unordered_flat_map<ParamsId, double> averages_;
};

}  // namespace sluice

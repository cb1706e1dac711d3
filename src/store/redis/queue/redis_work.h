#pragma once

#include <boost/unordered/unordered_flat_map.hpp>
#include <cstdint>
#include <vector>

#include "store/params_table.h"
#include "store/redis/script/batch.h"
#include "store/store.h"

namespace sluice {

// How much work calls cause on a Redis server, so that its time is shared out, not a number of calls. Not
// thread-safe.
//
// The unit is one more check on one bucket or window in a batch: about 3 µs of the server's time. Measured on
// Redis 7.0: each limit of a check on several limits takes 5 µs, a request id 7 µs more, a sliding_log 12 µs
// plus a third of a microsecond for each entry. So a full log of 4,096 entries costs as much as 400 other
// checks.
//
// The server reports the length of a log with each answer. The lengths of recently checked keys are
// remembered. For other keys the average of the logs under the same numbers is assumed, and the longest
// possible length before the first report.
class RedisWork {
 public:
  explicit RedisWork(const ParamsTable& params) : params_(params) {}

  std::uint32_t of(const StoreCall& call) const;

  // Learns from a batch that was answered.
  void hear(const Batch& batch);

 private:
  static constexpr std::size_t kLogsRemembered = 4'096, kAveragesMax = 4'096;  // 64 KiB, if there are logs
  static constexpr std::uint32_t kPerEntry = 2, kPerRequestId = 2, kPerLog = 3, kEntriesOfOneUnit = 10;

  struct Length {
    std::uint64_t key = 0;  // a half of it: a collision only makes the estimate wrong
    std::uint32_t entries = 0;
  };
  static std::size_t place_of(const KeyHash& key) { return key.low % kLogsRemembered; }
  std::uint32_t entries_of_log(const Charge& charge) const;

  const ParamsTable& params_;
  std::vector<Length> lengths_;  // by place_of(); empty until there is a log
  boost::unordered_flat_map<ParamsId, double> averages_;
};

}  // namespace sluice

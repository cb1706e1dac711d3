#include "store/redis/queue/redis_work.h"

namespace sluice {

std::uint32_t RedisWork::of(const StoreCall& call) const {
  const auto is_log = [this](const Charge& charge) {
    return params_[charge.params].algorithm == Algorithm::kSlidingLog;
  };
  if (call.charges.size() == 1 && !call.dedupe && call.refund_of_us == 0 && !is_log(call.charges[0]))
      [[likely]]
    return 1;
  std::uint32_t work = call.dedupe ? kPerRequestId : 0;
  for (const Charge& charge : call.charges)
    work += is_log(charge) ? kPerLog + entries_of_log(charge) / kEntriesOfOneUnit : kPerEntry;
  return work;
}

std::uint32_t RedisWork::entries_of_log(const Charge& charge) const {
  if (!lengths_.empty()) {
    const Length& length = lengths_[place_of(charge.key)];
    if (length.key == charge.key.high) return length.entries;
    const auto average = averages_.find(charge.params);
    if (average != averages_.end()) return static_cast<std::uint32_t>(average->second);
  }
  return static_cast<std::uint32_t>(params_[charge.params].capacity);
}

void RedisWork::hear(const Batch& batch) {
  batch.for_each_log([this](const KeyHash& key, ParamsId params, std::size_t entries) {
    if (lengths_.empty()) lengths_.resize(kLogsRemembered);
    lengths_[place_of(key)] = {.key = key.high, .entries = static_cast<std::uint32_t>(entries)};
    if (averages_.size() >= kAveragesMax) averages_.clear();
    const auto [average, is_first] = averages_.try_emplace(params, static_cast<double>(entries));
    if (!is_first) average->second += (static_cast<double>(entries) - average->second) / 16;
  });
}

}  // namespace sluice

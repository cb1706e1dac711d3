#include "store/redis/script/limit_records.h"

#include <utility>

#include "store/redis/script/stamp.h"
#include "store/redis/script/wire.h"

namespace sluice {

std::string limit_record(const LimitParams& params) {
  std::string record;
  const auto append = [&](std::int64_t number, int bytes) {
    append_number(record, static_cast<std::uint64_t>(number), bytes);
  };
  append(std::to_underlying(params.algorithm), 1);
  append(params.rate.count, 4);
  append(params.rate.period_us, 6);
  append(params.capacity, 4);
  append(params.scale, 4);
  append(params.denominator, 4);
  append(params.interval_us, 6);
  append(params.interval_remainder, 4);
  append(params.full_us, 7);
  append(params.full_remainder, 4);
  record += short_stamp(params);
  record.resize(LimitRecords::kBytes);
  return record;
}

std::uint16_t LimitRecords::number_of(ParamsId id, std::string& out) {
  if (id >= entries_.size()) entries_.resize(id + 1);
  Entry& entry = entries_[id];
  if (entry.call == call_) return entry.number;
  if (entry.record.empty()) {
    entry.record = limit_record(params_[id]);
    entry.stamp = stamp_of(params_[id]);
  }
  out += entry.record;
  entry.call = call_;
  entry.number = static_cast<std::uint16_t>(out.size() / kBytes);
  return entry.number;
}

}  // namespace sluice

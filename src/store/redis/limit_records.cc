#include "store/redis/limit_records.h"

#include "store/redis/wire.h"

namespace sluice {

std::string limit_record(const LimitParams& params) {
  std::string numbers;
  const auto append = [&](std::int64_t number, int bytes) {
    append_number(numbers, static_cast<std::uint64_t>(number), bytes);
  };
  append(params.capacity, 4);
  append(params.denominator, 4);
  append(params.interval_us, 6);
  append(params.interval_remainder, 4);
  append(params.full_us, 7);
  append(params.full_remainder, 4);
  append(params.rate.period_us, 6);
  const auto algorithm = static_cast<unsigned char>(params.algorithm);
  std::uint64_t hash = 1469598103934665603u ^ algorithm;  // FNV-1a
  for (const char c : numbers) hash = (hash ^ static_cast<unsigned char>(c)) * 1099511628211u;

  std::string record;
  append_number(record, algorithm, 1);
  append_number(record, hash >> 57, 1);
  append_number(record, 0, 2);  // the numbers it had before: not known
  return record + numbers;
}

std::uint16_t LimitRecords::number_of(ParamsId id, std::string& out) {
  if (id >= entries_.size()) entries_.resize(id + 1);
  Entry& entry = entries_[id];
  if (entry.call == call_) return entry.number;
  if (entry.record.empty()) entry.record = limit_record(params_[id]);
  out += entry.record;
  entry.call = call_;
  entry.number = static_cast<std::uint16_t>(out.size() / kBytes);
  return entry.number;
}

}  // namespace sluice

#include "store/redis/limit_records.h"

#include <algorithm>
#include <utility>

#include "store/redis/wire.h"

namespace sluice {
namespace {

constexpr std::size_t kPreviousAt = 2;  // in a record
constexpr unsigned kOnChangeUnit = 8;   // the first byte is algorithm + 8 × on_change

}  // namespace

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
  append_number(record, algorithm + kOnChangeUnit * std::to_underlying(params.on_change), 1);
  append_number(record, hash >> 57, 1);
  append_number(record, 0, 2);  // the numbers it had before: none
  return record + numbers;
}

LimitRecords::Entry& LimitRecords::entry(ParamsId id) {
  if (id >= entries_.size()) entries_.resize(id + 1);
  Entry& entry = entries_[id];
  if (entry.record.empty()) entry.record = limit_record(params_[id]);
  return entry;
}

std::uint16_t LimitRecords::number_of(ParamsId id, ParamsId previous, std::string& out) {
  const auto append = [&](const std::string& record) {
    out += record;
    return static_cast<std::uint16_t>(out.size() / kBytes);
  };
  if (previous == 0) {
    Entry& limit = entry(id);
    if (limit.plain.call != call_) limit.plain = {call_, append(limit.record)};
    return limit.plain.number;
  }
  entry(previous);
  Entry& limit = entry(id);
  if (tag(id) == tag(previous)) return number_of(id, 0, out);
  const std::uint16_t former = number_of(previous, 0, out);
  const auto is_this = [&](const Number& n) { return n.call == call_ && n.previous == previous; };
  if (const auto found = std::ranges::find_if(limit.changed, is_this); found != limit.changed.end())
    return found->number;
  const Number number{call_, append(limit.record), previous};
  out[out.size() - kBytes + kPreviousAt] = static_cast<char>(former >> 8);
  out[out.size() - kBytes + kPreviousAt + 1] = static_cast<char>(former & 0xff);
  const auto stale = std::ranges::find_if(limit.changed, [&](const Number& n) { return n.call != call_; });
  if (stale != limit.changed.end())
    *stale = number;
  else
    limit.changed.push_back(number);
  return number.number;
}

}  // namespace sluice

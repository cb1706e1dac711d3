#include "store/redis/limit_records.h"

#include <algorithm>
#include <utility>

#include "store/redis/wire.h"

namespace sluice {
namespace {

constexpr std::size_t kPreviousAt = 2;  // in a record
constexpr unsigned kOnChangeUnit =
    8;  // the first byte is algorithm + 8 × on_change + 32 if it is a former version's
constexpr char kFormer = 32;

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

std::uint16_t LimitRecords::append(ParamsId id, bool former, std::uint16_t previous, std::string& out) {
  const std::size_t at = out.size();
  out += entry(id).record;
  if (former) out[at] = static_cast<char>(out[at] | kFormer);
  out[at + kPreviousAt] = static_cast<char>(previous >> 8);
  out[at + kPreviousAt + 1] = static_cast<char>(previous & 0xff);
  return static_cast<std::uint16_t>(out.size() / kBytes);
}

// From its end, as each names the next.
std::uint16_t LimitRecords::append_family(FamilyId id, std::string& out) {
  if (id == 0) return 0;
  if (id >= families_.size()) families_.resize(id + 1);
  if (families_[id].call == call_) return families_[id].number;
  std::uint16_t next = 0;
  const auto family = params_.family(id);
  for (auto each = family.rbegin(); each != family.rend(); ++each)
    next = append(each->params, each->former, next, out);
  families_[id] = {call_, next};
  return next;
}

std::uint16_t LimitRecords::number_of(ParamsId id, const Relatives& relatives, std::string& out) {
  if (relatives == Relatives{}) {
    Number& plain = entry(id).plain;
    if (plain.call != call_) plain = {call_, append(id, false, 0, out)};
    return plain.number;
  }
  const auto is_this = [&](const Number& n) { return n.call == call_ && n.relatives == relatives; };
  const std::vector<Number>& before = entry(id).related;
  if (const auto found = std::ranges::find_if(before, is_this); found != before.end()) return found->number;
  std::uint16_t others = append_family(relatives.family, out);
  if (relatives.own != 0) others = append(relatives.own, false, others, out);
  const Number number{call_, append(id, false, others, out), relatives};
  std::vector<Number>& known = entry(id).related;
  const auto stale = std::ranges::find_if(known, [&](const Number& n) { return n.call != call_; });
  if (stale != known.end())
    *stale = number;
  else
    known.push_back(number);
  return number.number;
}

LimitRecords::KeptBy LimitRecords::kept_by(int tag, ParamsId id, const Relatives& relatives) const {
  if (tag == this->tag(id)) return {&params_[id]};
  if (relatives.own != 0 && tag == this->tag(relatives.own)) return {&params_[relatives.own]};
  for (const KnownNumbers& known : params_.family(relatives.family))
    if (tag == this->tag(known.params))
      return {&params_[known.params], known.former ? params_[id].on_change : OnChange::kKeep};
  return {};
}

}  // namespace sluice

#include "store/redis/batch.h"

#include <algorithm>
#include <cassert>

#include "base/limits.h"
#include "store/redis/explain_record.h"
#include "store/redis/wire.h"

namespace sluice {
namespace {

constexpr std::uint8_t kHasRequestId = 64, kExplain = 128;
constexpr std::int64_t kConflict = -1, kReplayed = -2;
constexpr std::int64_t kTtlMsMax = UINT32_MAX;
constexpr std::size_t kIndexSize = 4096;  // a power of two
static_assert(kRedisBatchEntriesMax + kLimitsPerCheckMax < kIndexSize / 2);
static_assert(kLimitsPerCheckMax < kHasRequestId);

using Type = redis::RespValue::Type;

}  // namespace

Batch::Batch() : index_(kIndexSize, 0) {}

void Batch::clear() {
  for (const Counter& counter : counters_) index_[counter.place] = 0;
  calls_.clear();
  next_call_.clear();
  checks_.clear();
  entries_.clear();
  counters_.clear();
  request_ids_.clear();
  limit_bytes_.clear();
  records_ = 0;
  contradictions_ = 0;
}

std::uint32_t Batch::find(const KeyHash& key) const {
  std::uint32_t place = static_cast<std::uint32_t>(key.low) & (kIndexSize - 1);
  while (index_[place] != 0 && counters_[index_[place] - 1].key != key)
    place = (place + 1) & (kIndexSize - 1);
  return place;
}

bool Batch::fits(const StoreCall& call) const {
  if (calls_.empty()) return true;
  if (calls_.size() >= kRedisBatchChecksMax || entries_.size() + call.charges.size() > kRedisBatchEntriesMax)
    return false;
  for (const Charge& charge : call.charges) {
    const std::uint32_t taken = index_[find(charge.key)];
    if (taken != 0 && counters_[taken - 1].params != charge.params) return false;
  }
  return true;
}

// A call on one key may join the last check on that key alone, if it asks for the same.
bool Batch::join(std::uint32_t call, const Charge& charge) {
  const std::uint32_t taken = index_[find(charge.key)];
  if (taken == 0 || counters_[taken - 1].repeatable == kNone) return false;
  Check& check = checks_[counters_[taken - 1].repeatable];
  const Charge& other = entries_[check.first_entry].charge;
  if (other.cost != charge.cost || other.on_denial != charge.on_denial) return false;
  ++check.repeats;
  next_call_[check.last_call] = call;
  check.last_call = call;
  return true;
}

std::uint32_t Batch::counter_of(const Charge& charge, std::uint32_t slot_tag) {
  const std::uint32_t place = find(charge.key);
  if (index_[place] == 0) {
    counters_.push_back({charge.key, slot_tag, charge.params, place});
    index_[place] = static_cast<std::uint32_t>(counters_.size());
  }
  return index_[place] - 1;
}

bool Batch::add(StoreCall& call, LimitRecords& limits) {
  assert(!call.charges.empty() && call.charges.size() <= kLimitsPerCheckMax);
  if (!fits(call)) return false;
  if (calls_.empty()) limits.begin();
  const auto number = static_cast<std::uint32_t>(calls_.size());
  calls_.push_back(&call);
  next_call_.push_back(kNone);
  const bool alone = call.charges.size() == 1 && !call.dedupe;
  if (alone && join(number, call.charges[0])) return true;

  Check check{.first_entry = static_cast<std::uint32_t>(entries_.size()),
              .entries = static_cast<std::uint8_t>(call.charges.size()),
              .first_call = number,
              .last_call = number};
  for (const Charge& charge : call.charges) {
    check.explain |= limits.params(charge.params).algorithm == Algorithm::kSlidingLog;
    entries_.push_back(
        {counter_of(charge, call.slot_tag), limits.number_of(charge.params, limit_bytes_), charge});
  }
  if (call.dedupe) {
    check.request_id = static_cast<std::uint32_t>(request_ids_.size());
    request_ids_.push_back({*call.dedupe, call.slot_tag});
  }
  if (check.explain || call.dedupe) ++records_;
  if (alone && !check.explain)
    counters_[entries_.back().counter].repeatable = static_cast<std::uint32_t>(checks_.size());
  checks_.push_back(check);
  return true;
}

std::string Batch::encoded_checks() const {
  std::string out;
  out.reserve(2 + checks_.size() * 3 + entries_.size() * 9 + request_ids_.size() * 14);
  append_number(out, counters_.size(), 2);
  for (const Check& check : checks_) {
    const unsigned flags = (check.request_id != kNone ? kHasRequestId : 0u) | (check.explain ? kExplain : 0u);
    append_number(out, check.entries | flags, 1);
    append_number(out, check.repeats, 2);
    for (std::uint32_t i = check.first_entry; i < check.first_entry + check.entries; ++i) {
      const Entry& entry = entries_[i];
      append_number(out, entry.counter + 1, 2);
      append_number(out, entry.limit, 2);
      append_number(out, entry.charge.on_denial == OnDenial::kCharge ? 1 : 0, 1);
      append_number(out, static_cast<std::uint64_t>(entry.charge.cost), 4);
    }
    if (check.request_id == kNone) continue;
    const Dedupe& dedupe = request_ids_[check.request_id].dedupe;
    append_number(out, counters_.size() + check.request_id + 1, 2);
    append_number(out, dedupe.fingerprint, 8);
    append_number(
        out, static_cast<std::uint64_t>(std::clamp(dedupe.ttl_us / 1000, std::int64_t{1}, kTtlMsMax)), 4);
  }
  return out;
}

void Batch::append_command(std::string& out, std::string_view command, std::string_view script,
                           std::string_view prefix, std::int64_t decide_at_us) const {
  redis::append_array(out, 5 + keys() + (decide_at_us != 0 ? 1 : 0));
  redis::append_bulk(out, command);
  redis::append_bulk(out, script);
  redis::append_bulk(out, std::to_string(keys()));
  std::string key;
  const auto append_name = [&](const KeyHash& hash, std::uint32_t slot_tag) {
    key.clear();
    append_key(key, prefix, slot_tag, hash);
    redis::append_bulk(out, key);
  };
  for (const Counter& counter : counters_) append_name(counter.key, counter.slot_tag);
  for (const RequestId& id : request_ids_) append_name(id.dedupe.id, id.slot_tag);
  redis::append_bulk(out, limit_bytes_);
  redis::append_bulk(out, encoded_checks());
  if (decide_at_us != 0) redis::append_bulk(out, std::to_string(decide_at_us));
}

// now, a verdict per check, the value of each counter before, and the records.
bool Batch::is_reply(std::span<const redis::RespValue> reply) const {
  if (reply.size() != 2 + checks_.size() + counters_.size() + records_) return false;
  if (reply[0].type != Type::kArray || reply[0].integer + 1 != static_cast<std::int64_t>(reply.size()))
    return false;
  for (std::size_t i = 1; i < reply.size(); ++i) {
    const bool number = i < 2 + checks_.size();
    if (number ? reply[i].type != Type::kInteger
               : reply[i].type != Type::kBytes && reply[i].type != Type::kNothing)
      return false;
  }
  if (reply[1].integer < 0 || reply[1].integer >= kExactMax / 2) return false;
  for (const redis::RespValue& record : reply.last(records_))
    if (record.type == Type::kBytes && !ExplainRecord::is_one(record.bytes)) return false;
  return true;
}

bool Batch::read_reply(std::span<const redis::RespValue> reply, const LimitRecords& limits) {
  if (!is_reply(reply)) return false;
  const std::int64_t now_us = reply[1].integer;
  const auto verdicts = reply.subspan(2, checks_.size());
  const auto values = reply.subspan(2 + checks_.size(), counters_.size());
  auto records = reply.last(records_);
  views_.resize(counters_.size());
  for (std::size_t i = 0; i < values.size(); ++i) views_[i].read(values[i].bytes);
  for (std::size_t i = 0; i < checks_.size(); ++i) {
    std::string_view record;
    if (checks_[i].explain || checks_[i].request_id != kNone) {
      record = records.front().bytes;
      records = records.subspan(1);
    }
    read_check(checks_[i], verdicts[i].integer, record, now_us, limits);
  }
  return true;
}

void Batch::read_check(const Check& check, std::int64_t verdict, std::string_view record, std::int64_t now_us,
                       const LimitRecords& limits) {
  if (verdict == kConflict || verdict == kReplayed) {
    StoreCall* call = calls_[check.first_call];
    if (call == nullptr) return;
    if (verdict == kConflict || !ExplainRecord(record).read(*call)) {
      call->verdict = Verdict::kDenied;
      call->conflict = true;
    }
    call->replayed = verdict == kReplayed;
    return;
  }
  std::int64_t admitted = verdict;
  for (std::uint32_t call = check.first_call; call != kNone; call = next_call_[call], --admitted)
    replay(check, call, admitted > 0, now_us, limits);
  if (!record.empty() && calls_[check.first_call] != nullptr)
    ExplainRecord(record).read(*calls_[check.first_call]);
}

// Fills one call in, if it still waits, and follows what it did to the counters.
void Batch::replay(const Check& check, std::uint32_t call, bool admitted, std::int64_t now_us,
                   const LimitRecords& limits) {
  StoreCall* const asked = calls_[call];
  bool all_had_room = true, seen_all = true;
  for (std::uint32_t i = 0; i < check.entries; ++i) {
    const Entry& entry = entries_[check.first_entry + i];
    const LimitParams& params = limits.params(entry.charge.params);
    if (params.algorithm == Algorithm::kSlidingLog) {
      seen_all = false;
      continue;
    }
    ChargeResult result;
    all_had_room &= views_[entry.counter].replay(params, entry.charge, admitted, now_us, result);
    if (asked != nullptr) asked->results[i] = result;
  }
  if (admitted != all_had_room && (seen_all || admitted)) ++contradictions_;
  if (asked == nullptr) return;
  asked->verdict = admitted ? Verdict::kAllowed : Verdict::kDenied;
  asked->now_us = now_us;
}

}  // namespace sluice

#include "store/redis/script/batch.h"

#include <algorithm>
#include <cassert>

#include "base/limits.h"
#include "store/redis/script/explain_record.h"
#include "store/redis/script/stamp.h"
#include "store/redis/script/wire.h"

namespace sluice {
namespace {

constexpr std::uint8_t kHasRequestId = 64, kExplain = 128;
constexpr std::size_t kHeedsMoves = 32'768;  // added to the number of counters
constexpr std::int64_t kConflict = -1, kReplayed = -2;
constexpr std::int64_t kTtlMsMax = UINT32_MAX;
constexpr unsigned kRefund = 0, kPart = 2, kLease = 3;  // instead of the number of repeats
static_assert(kLimitsPerCheckMax < kHasRequestId);
static_assert(kRedisBatchEntriesMax + kLimitsPerCheckMax < kHeedsMoves);

using Type = redis::RespValue::Type;

}  // namespace

void Batch::clear() {
  calls_.clear();
  next_call_.clear();
  checks_.clear();
  order_.clear();
  entries_.clear();
  grants_.clear();
  counter_keys_.clear();
  counters_.clear();
  id_keys_.clear();
  id_slot_tags_.clear();
  request_ids_.clear();
  limit_bytes_.clear();
  records_ = 0;
  contradictions_ = 0;
  has_denied_ = has_logs_ = false;
}

bool Batch::fits(const StoreCall& call) const {
  if (calls_.empty()) return true;
  if (calls_.size() >= kRedisBatchChecksMax || entries_.size() + call.charges.size() > kRedisBatchEntriesMax)
    return false;
  return std::ranges::all_of(call.charges, [&](const Charge& charge) {
    const std::uint32_t counter = counter_keys_.find(charge.key);
    return counter == kNone || counters_[counter].params == charge.params;
  });
}

bool Batch::add(StoreCall& call, LimitRecords& limits) {
  assert(!call.charges.empty() && call.charges.size() <= kLimitsPerCheckMax);
  if (!fits(call)) return false;
  if (calls_.empty()) limits.begin();
  calls_.push_back(&call);
  next_call_.push_back(kNone);
  const bool single = call.charges.size() == 1 && !call.dedupe && call.refund_of_us == 0 &&
                      limits.params(call.charges[0].params).algorithm != Algorithm::kSlidingLog;
  if (!single || !merges_ || !join(static_cast<std::uint32_t>(calls_.size() - 1), call.charges[0]))
    add_check(call, single, limits);
  return true;
}

// A call on one counter may join the last check on that counter, if it is equal and has only that charge.
bool Batch::join(std::uint32_t call, const Charge& charge) {
  const std::uint32_t counter = counter_keys_.find(charge.key);
  if (counter == kNone || counters_[counter].last_single == kNone) return false;
  Check& check = checks_[counters_[counter].last_single];
  const Charge& other = entries_[check.first_entry].charge;
  if (other.cost != charge.cost || other.on_denial != charge.on_denial) return false;
  ++check.repeats;
  next_call_[check.last_call] = call;
  check.last_call = call;
  return true;
}

std::uint32_t Batch::counter_of(const Charge& charge) {
  const std::uint32_t counter = counter_keys_.number_of(charge.key);
  if (counter == counters_.size()) counters_.push_back({charge.slot_tag, charge.params});
  return counter;
}

void Batch::add_check(const StoreCall& call, bool single, LimitRecords& limits) {
  const auto number = static_cast<std::uint32_t>(checks_.size());
  Check check{.first_entry = static_cast<std::uint32_t>(entries_.size()),
              .entries = static_cast<std::uint8_t>(call.charges.size()),
              .single = single};
  check.first_call = check.last_call = static_cast<std::uint32_t>(calls_.size() - 1);
  for (const Charge& charge : call.charges) {
    const bool is_log = limits.params(charge.params).algorithm == Algorithm::kSlidingLog;
    const std::uint32_t counter = counter_of(charge);
    counters_[counter].is_log = is_log;
    has_logs_ |= is_log;
    check.explain |= is_log;
    entries_.push_back({counter, limits.number_of(charge.params, limit_bytes_), charge});
  }
  for (std::uint32_t i = 0; call.passed_over >> i != 0; ++i)
    if ((call.passed_over >> i & 1) != 0) entries_[check.first_entry + i].charge.cost = 0;
  if (call.refund_of_us != 0) add_grants(call, check);
  check.is_lease = call.is_lease && call.refund_of_us == 0;
  if (call.dedupe) {
    check.request_id = static_cast<std::uint32_t>(request_ids_.size());
    const std::uint32_t key = id_keys_.number_of(call.dedupe->id);
    if (key == id_slot_tags_.size()) id_slot_tags_.push_back(call.dedupe->slot_tag);
    request_ids_.push_back({*call.dedupe, key});
  }
  if (check.has_record()) ++records_;
  if (single) {
    std::uint32_t& last = counters_[entries_.back().counter].last_single;
    check.begins_row = last == kNone;
    if (last != kNone) checks_[last].next_single = number;
    last = number;
  } else {  // later calls on these counters are decided later
    for (std::uint32_t i = check.first_entry; i < entries_.size(); ++i)
      counters_[entries_[i].counter].last_single = kNone;
  }
  checks_.push_back(check);
}

// Adds what is to be given back. A charge that is not given back becomes a look.
void Batch::add_grants(const StoreCall& call, Check& check) {
  check.explain = true;
  check.first_grant = static_cast<std::uint32_t>(grants_.size());
  for (std::size_t i = 0; i < call.charges.size(); ++i) {
    Charge& charge = entries_[check.first_entry + i].charge;
    if (!is_given_back(charge, call.refund_of_us)) charge.cost = 0;
    const Outcome& told = call.results[i].outcome;
    const bool is_told = told.allowed && call.refund_of_us != Grant::kAnyTime;
    grants_.emplace_back(call.refund_of_us, charge.cost, is_told ? told : Outcome{});
  }
}

// The order of arrival, except that a row of checks on one counter stands where the first of them does: the
// script then unpacks the counter once. The order on any one counter stays the same.
void Batch::arrange() {
  order_.clear();
  for (std::uint32_t i = 0; i < checks_.size(); ++i) {
    if (!checks_[i].single) {
      order_.push_back(i);
    } else if (checks_[i].begins_row) {
      for (std::uint32_t each = i; each != kNone; each = checks_[each].next_single) order_.push_back(each);
    }
  }
}

void Batch::append_waiting(std::vector<StoreCall*>& out) const {
  for (const std::uint32_t number : order_)
    for (std::uint32_t call = checks_[number].first_call; call != kNone; call = next_call_[call])
      if (calls_[call] != nullptr) out.push_back(calls_[call]);
}

std::vector<bool> Batch::refused_keys(std::string_view key_numbers) const {
  std::vector<bool> is_refused(keys() + 1, false);
  for (std::size_t number = 0; const char letter : std::string(key_numbers) + ' ') {
    const bool is_digit = letter >= '0' && letter <= '9';
    number = is_digit && number <= keys() ? number * 10 + static_cast<std::size_t>(letter - '0') : number;
    if (is_digit) continue;
    if (number <= keys()) is_refused[number] = true;
    number = 0;
  }
  return is_refused;
}

void Batch::part_refused(std::string_view key_numbers, std::vector<StoreCall*>& refused,
                         std::vector<StoreCall*>& others) const {
  const std::vector<bool> is_refused = refused_keys(key_numbers);
  for (const std::uint32_t each : order_) {
    const Check& check = checks_[each];
    bool wants_one =
        check.request_id != kNone && is_refused[counters_.size() + request_ids_[check.request_id].key + 1];
    for (std::uint32_t i = check.first_entry; i < check.first_entry + check.entries; ++i)
      wants_one |= is_refused[entries_[i].counter + 1];
    for (std::uint32_t call = check.first_call; call != kNone; call = next_call_[call])
      if (calls_[call] != nullptr) (wants_one ? refused : others).push_back(calls_[call]);
  }
}

// What stands in the place of the number of repeats.
unsigned Batch::kind_of(const Check& check) const {
  const bool is_part = check.request_id != kNone && request_ids_[check.request_id].dedupe.is_part;
  if (check.is_refund()) return kRefund;
  if (check.is_lease) return kLease;
  return is_part ? kPart : check.repeats;
}

std::string Batch::encoded_checks(bool heeds_moves) const {
  std::string out;
  out.reserve(2 + checks_.size() * 3 + entries_.size() * 9 + request_ids_.size() * 14 + grants_.size() * 18);
  append_number(out, counters_.size() + (heeds_moves ? kHeedsMoves : 0), 2);
  for (const std::uint32_t number : order_) {
    const Check& check = checks_[number];
    const unsigned flags = (check.request_id != kNone ? kHasRequestId : 0u) | (check.explain ? kExplain : 0u);
    append_number(out, check.entries | flags, 1);
    append_number(out, kind_of(check), 2);
    for (std::uint32_t i = check.first_entry; i < check.first_entry + check.entries; ++i) {
      const Entry& entry = entries_[i];
      append_number(out, entry.counter + 1, 2);
      append_number(out, entry.limit, 2);
      append_number(out, entry.charge.on_denial == OnDenial::kCharge ? 1 : 0, 1);
      append_number(out, static_cast<std::uint64_t>(entry.charge.cost), 4);
    }
    if (check.is_refund()) {
      append_number(out, static_cast<std::uint64_t>(grants_[check.first_grant].at_us), 7);
      for (std::uint32_t i = check.first_grant; i < check.first_grant + check.entries; ++i) {
        append_number(out, static_cast<std::uint64_t>(grants_[i].remaining), 4);
        append_number(out, static_cast<std::uint64_t>(grants_[i].reset_after_us), 7);
      }
    }
    if (check.request_id == kNone) continue;
    const auto& [dedupe, key] = request_ids_[check.request_id];
    append_number(out, counters_.size() + key + 1, 2);
    append_number(out, dedupe.fingerprint, 6);
    append_number(out, dedupe.terms, 2);
    const auto ttl_ms =
        static_cast<std::uint64_t>(std::clamp(dedupe.ttl_us / 1000, std::int64_t{1}, kTtlMsMax));
    append_number(out, check.is_refund() ? ExplainRecord::kFlagsToRefund : ttl_ms, 4);
  }
  return out;
}

void Batch::append_command(std::string& out, std::string_view command, std::string_view script,
                           std::string_view prefix, bool heeds_moves, std::int64_t decide_at_us, bool alone) {
  assert(!alone || checks_.size() == 1);
  arrange();
  const std::size_t key_count = keys() + (heeds_moves ? 1 : 0);
  const bool says_when = decide_at_us != 0 || alone;
  redis::append_array(out, 5 + key_count + (says_when ? 1 : 0) + (alone ? 1 : 0));
  redis::append_bulk(out, command);
  redis::append_bulk(out, script);
  redis::append_bulk(out, std::to_string(key_count));
  std::string key;
  const auto append_name = [&](const KeyHash& hash, std::uint32_t slot_tag) {
    key.clear();
    append_key(key, prefix, slot_tag, hash);
    redis::append_bulk(out, key);
  };
  for (std::size_t i = 0; i < counters_.size(); ++i)
    append_name(counter_keys_.keys()[i], counters_[i].slot_tag);
  for (std::size_t i = 0; i < id_keys_.size(); ++i) append_name(id_keys_.keys()[i], id_slot_tags_[i]);
  if (heeds_moves) redis::append_bulk(out, moves_key(prefix));
  redis::append_bulk(out, limit_bytes_);
  redis::append_bulk(out, encoded_checks(heeds_moves));
  if (says_when) redis::append_bulk(out, decide_at_us != 0 ? std::to_string(decide_at_us) : std::string());
  if (alone) redis::append_bulk(out, "1");
}

// The time, the previous value of each counter, a verdict per check, and the records.
bool Batch::is_reply(std::span<const redis::RespValue> reply) const {
  if (reply.size() != 2 + counters_.size() + checks_.size() + records_) return false;
  if (reply[0].type != Type::kArray || reply[0].integer + 1 != static_cast<std::int64_t>(reply.size()))
    return false;
  if (reply[1].type != Type::kInteger || reply[1].integer < 0 || reply[1].integer >= kExactMax / 2)
    return false;
  const auto is_value = [](const redis::RespValue& value) {
    return value.type == Type::kBytes || value.type == Type::kNothing;
  };
  const auto is_record = [](const redis::RespValue& value) {
    return value.type == Type::kNothing || (value.type == Type::kBytes && ExplainRecord::is_one(value.bytes));
  };
  return std::ranges::all_of(reply.subspan(2, counters_.size()), is_value) &&
         std::ranges::all_of(reply.subspan(2 + counters_.size(), checks_.size()),
                             [](const redis::RespValue& value) { return value.type == Type::kInteger; }) &&
         std::ranges::all_of(reply.last(records_), is_record);
}

bool Batch::read_reply(std::span<const redis::RespValue> reply, const LimitRecords& limits) {
  if (!is_reply(reply)) return false;
  const std::int64_t now_us = reply[1].integer;
  const auto values = reply.subspan(2, counters_.size());
  const auto verdicts = reply.subspan(2 + counters_.size(), checks_.size());
  auto records = reply.last(records_);
  views_.resize(counters_.size());
  for (std::size_t i = 0; i < values.size(); ++i) {
    counters_[i].log_entries = static_cast<std::uint32_t>(values[i].bytes.size() / kLogEntryBytes);
    views_[i].read(values[i].bytes, limits, counters_[i].params);
  }
  for (std::size_t i = 0; i < order_.size(); ++i) {
    const Check& check = checks_[order_[i]];
    std::string_view record;
    if (check.has_record()) {
      record = records.front().bytes;
      records = records.subspan(1);
    }
    read_check(check, verdicts[i].integer, record, now_us, limits);
  }
  return true;
}

void Batch::read_check(const Check& check, std::int64_t verdict, std::string_view record, std::int64_t now_us,
                       const LimitRecords& limits) {
  if (verdict == kConflict || verdict == kReplayed) {
    StoreCall* call = calls_[check.first_call];
    if (call == nullptr) return;
    call->replayed = check.is_refund() || (verdict == kReplayed && !record.empty());
    call->conflict = !call->replayed;
    call->verdict = check.is_refund() ? Verdict::kAllowed : Verdict::kDenied;
    if (!record.empty()) ExplainRecord(record).read(*call);
    return;
  }
  // The counters were charged what was granted; a denial was about one unit.
  if (check.is_lease && !record.empty())
    for (std::uint32_t i = check.first_entry; i < check.first_entry + check.entries; ++i)
      entries_[i].charge.cost = std::max<std::int64_t>(ExplainRecord(record).granted(), 1);
  std::int64_t admitted = verdict;
  for (std::uint32_t call = check.first_call; call != kNone; call = next_call_[call], --admitted)
    replay(check, call, admitted > 0, now_us, limits);
  if (!record.empty() && calls_[check.first_call] != nullptr)
    ExplainRecord(record).read(*calls_[check.first_call]);
  if (StoreCall* const call = calls_[check.first_call]; call != nullptr && call->passed_over != 0)
    note_passed_over(*call);
  if (check.explain) note_logs(check, now_us, limits);
}

// The script was not asked about all charges.
void Batch::note_passed_over(StoreCall& call) {
  if (call.verdict != Verdict::kAllowed) return;
  call.verdict = Verdict::kPartlyCounted;
  for (std::size_t i = 0; i < call.results.size(); ++i)
    call.results[i].passed_over = (call.passed_over >> i & 1) != 0;
}

// Notes what the script has explained.
void Batch::note_logs(const Check& check, std::int64_t now_us, const LimitRecords& limits) {
  const StoreCall* const asked = calls_[check.first_call];
  const bool is_told = asked != nullptr && !check.is_refund() && asked->results_known == check.entries;
  for (std::uint32_t i = 0; i < check.entries; ++i) {
    const Entry& entry = entries_[check.first_entry + i];
    if (limits.params(entry.charge.params).algorithm == Algorithm::kSlidingLog)
      views_[entry.counter].note_log(entry.charge, is_told ? &asked->results[i] : nullptr, now_us);
  }
}

// Fills in one call's answer, if it still waits, and replays it on the counters.
void Batch::replay(const Check& check, std::uint32_t call, bool admitted, std::int64_t now_us,
                   const LimitRecords& limits) {
  StoreCall* const asked = calls_[call];
  has_denied_ |= !admitted;
  bool all_had_room = true, seen_all = true;
  for (std::uint32_t i = 0; i < check.entries; ++i) {
    const Entry& entry = entries_[check.first_entry + i];
    const LimitParams& params = limits.params(entry.charge.params);
    if (params.algorithm == Algorithm::kSlidingLog) {
      seen_all = false;
      if (asked != nullptr) asked->results[i].one_unit_after_us = 0;  // the script tells it
      continue;
    }
    if (check.is_refund()) {
      views_[entry.counter].refund(params, grants_[check.first_grant + i], now_us);
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
  asked->results_known = asked->results.size();
}

}  // namespace sluice

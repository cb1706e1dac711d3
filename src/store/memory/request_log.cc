#include "store/memory/request_log.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cassert>
#include <new>
#include <span>

#include "base/limits.h"

namespace sluice {
namespace {

constexpr std::uint64_t kRequestShardsMax = 64;

// A shard has one chain per this many bytes. Records are about that long, so chains are short.
constexpr std::uint64_t kBytesPerChain = 128;

// More than one, so that expired records are found faster than new ids come.
constexpr int kCheckedPerInsertion = 4;
constexpr int kCheckedPerTend = 256;

constexpr std::int64_t kTtlUsMin = 1'000;  // as in Redis, which counts milliseconds

// A ChargeResult in 24 bytes.
struct KeptResult {
  explicit KeptResult(const ChargeResult& result)
      : retry_after_us(result.outcome.retry_after_us),
        reset_after_us(result.outcome.reset_after_us),
        remaining(static_cast<std::uint32_t>(result.outcome.remaining)),
        denied_cost(static_cast<std::uint32_t>(result.denied_cost) & kDeniedCostMax),
        pressure(static_cast<std::uint32_t>(result.pressure) & 3),
        allowed(result.outcome.allowed),
        passed_over(result.passed_over) {}

  ChargeResult unpacked() const {
    return {.outcome = {.allowed = allowed != 0,
                        .remaining = remaining,
                        .retry_after_us = retry_after_us,
                        .reset_after_us = reset_after_us},
            .pressure = static_cast<Pressure>(pressure),
            .passed_over = passed_over != 0,
            .denied_cost = denied_cost};
  }

  std::int64_t retry_after_us, reset_after_us;
  std::uint32_t remaining;
  std::uint32_t denied_cost : 22, pressure : 2, allowed : 1, passed_over : 1;
};
static_assert(sizeof(KeptResult) == 24);

std::uint64_t bytes_max_of(const RequestLog::Options& options) {
  return std::max(options.bytes_max, RequestLog::Options::kBytesMin);
}

std::uint64_t shards_of(const RequestLog::Options& options) {
  return std::bit_floor(std::min(bytes_max_of(options) / RequestLog::Options::kBytesMin, kRequestShardsMax));
}

}  // namespace

// A recorded answer. The results follow it in the same allocation.
struct RequestRecord {
  // The memory of a record, including an estimate of the allocator's overhead and rounding.
  std::uint64_t size() const {
    return (sizeof(RequestRecord) + results * sizeof(KeptResult) + 8 + 15) / 16 * 16;
  }

  KeptResult* kept() { return reinterpret_cast<KeptResult*>(this + 1); }

  // REQUIRES: the call has been answered, and has as many results as there is room for.
  void keep(const StoreCall& call) {
    fingerprint = call.dedupe->fingerprint;
    terms = call.dedupe->terms;
    now_us = call.now_us;
    expires_us = call.now_us + std::max(call.dedupe->ttl_us, kTtlUsMin);
    verdict = call.verdict;
    granted = static_cast<std::uint32_t>(call.granted);
    is_kept = true;
    for (std::size_t i = 0; i < results; ++i) new (kept() + i) KeptResult(call.results[i]);
  }

  void replay(StoreCall& call) {
    if (call.dedupe->fingerprint != fingerprint) {
      call.verdict = Verdict::kDenied;
      call.conflict = true;
      return;
    }
    call.verdict = verdict;
    call.now_us = now_us;
    call.replayed = true;
    call.granted = granted;
    if (call.results.size() != results || call.dedupe->terms != terms) return;
    for (std::size_t i = 0; i < results; ++i) call.results[i] = kept()[i].unpacked();
    call.results_known = results;
  }

  bool expired(std::int64_t at_us) const { return at_us >= expires_us; }

  RequestRecord* next_in_chain = nullptr;
  RequestRecord* older = nullptr;
  RequestRecord* newer = nullptr;
  RequestOwners::Owner* owner = nullptr;
  RequestRecord* older_of_owner = nullptr;
  RequestRecord* newer_of_owner = nullptr;
  KeyHash id;
  std::uint64_t fingerprint = 0;
  std::int64_t now_us = 0;
  std::int64_t expires_us = 0;
  std::uint32_t granted = 0;  // of a lease
  std::uint16_t terms = 0;
  Verdict verdict = Verdict::kNoAnswer;
  std::uint8_t results = 0;
  bool is_kept = false;  // it counts in its owner's bytes
};
static_assert(kLimitsPerCheckMax <= UINT8_MAX);

RequestLog::Shard::~Shard() {
  while (oldest_ != nullptr) erase(*oldest_);
}

RequestRecord* RequestLog::Shard::find(const KeyHash& id) const {
  if (chains_.empty()) return nullptr;
  RequestRecord* record = chains_[id.high & (chains_.size() - 1)];
  while (record != nullptr && record->id != id) record = record->next_in_chain;
  return record;
}

RequestRecord& RequestLog::Shard::insert(const Dedupe& dedupe, std::size_t results, std::int64_t now_us) {
  if (chains_.empty()) chains_.resize(std::bit_floor(bytes_max_ / kBytesPerChain));
  expire(kCheckedPerInsertion, now_us);
  void* const memory = ::operator new(sizeof(RequestRecord) + results * sizeof(KeptResult));
  auto* const record = new (memory) RequestRecord;
  record->results = static_cast<std::uint8_t>(results);
  record->id = dedupe.id;
  try {
    record->owner = &owners_.at(dedupe.owner);
  } catch (...) {
    ::operator delete(record);
    throw;
  }
  RequestRecord*& chain = chain_of(record->id);
  record->next_in_chain = chain;
  chain = record;
  record->older = newest_;
  (newest_ != nullptr ? newest_->newer : oldest_) = record;
  newest_ = record;
  RequestOwners::Owner& owner = *record->owner;
  record->older_of_owner = owner.newest;
  (owner.newest != nullptr ? owner.newest->newer_of_owner : owner.oldest) = record;
  owner.newest = record;
  ++entries_;
  return *record;
}

void RequestLog::Shard::keep(RequestRecord& record, const StoreCall& call) {
  make_room(record.size(), call.now_us);
  record.keep(call);
  owners_.add_bytes(*record.owner, record.size());
}

// Never evicts a record that is not kept yet: an owner with a kept record takes more memory.
void RequestLog::Shard::make_room(std::uint64_t wanted, std::int64_t now_us) {
  while (bytes() + wanted > bytes_max_ && !owners_.empty()) {
    RequestRecord& oldest = *owners_.owner_to_evict_from().oldest;
    assert(oldest.is_kept);
    if (!oldest.expired(now_us)) ++evicted_;
    erase(oldest);
  }
}

void RequestLog::Shard::erase(RequestRecord& record) {
  RequestRecord** link = &chain_of(record.id);
  while (*link != &record) link = &(*link)->next_in_chain;
  *link = record.next_in_chain;
  (record.older != nullptr ? record.older->newer : oldest_) = record.newer;
  (record.newer != nullptr ? record.newer->older : newest_) = record.older;
  if (next_to_check_ == &record) next_to_check_ = record.newer;
  RequestOwners::Owner& owner = *record.owner;
  (record.older_of_owner != nullptr ? record.older_of_owner->newer_of_owner : owner.oldest) =
      record.newer_of_owner;
  (record.newer_of_owner != nullptr ? record.newer_of_owner->older_of_owner : owner.newest) =
      record.older_of_owner;
  if (record.is_kept) owners_.take_bytes(owner, record.size());
  owners_.remove_if_empty(owner);
  --entries_;
  ::operator delete(&record);
}

void RequestLog::Shard::expire(int records, std::int64_t now_us) {
  if (next_to_check_ == nullptr) next_to_check_ = oldest_;
  for (; records > 0 && next_to_check_ != nullptr; --records) {
    RequestRecord& record = *next_to_check_;
    next_to_check_ = record.newer;
    if (record.expired(now_us)) erase(record);
  }
}

void RequestLog::Shard::add_to(Stats& stats) const {
  stats.entries += entries_;
  stats.bytes += bytes();
  stats.bytes_max += bytes_max_;
  stats.evicted += evicted_;
}

RequestLog::RequestLog(Counters& counters, const Clock& clock, const Options& options)
    : counters_(counters),
      clock_(clock),
      shard_mask_(shards_of(options) - 1),
      shards_(std::make_unique<Shard[]>(shard_mask_ + 1)) {
  for (Shard& shard : std::span(shards_.get(), shard_mask_ + 1))
    shard.open(bytes_max_of(options) / (shard_mask_ + 1));
}

void RequestLog::apply_once(StoreCall& call) {
  assert(call.dedupe && call.charges.size() == call.results.size());
  assert(call.charges.size() <= kLimitsPerCheckMax);
  call.forget_answer();
  Shard& shard = shard_of(call.dedupe->id);
  const Lock lock(shard.mutex);
  const std::int64_t now_us = clock_.now_us();
  if (RequestRecord* known = shard.find(call.dedupe->id)) {
    if (!known->expired(now_us)) return known->replay(call);
    shard.erase(*known);
  }
  const bool may_charge = has_charged(call.charges, Verdict::kAllowed);
  // Allocate first: once the counters have been charged, nothing may fail.
  RequestRecord* const record =
      may_charge ? &shard.insert(*call.dedupe, call.charges.size(), now_us) : nullptr;
  call.verdict = call.is_lease ? apply_lease(counters_, call.charges, call.results, call.granted, call.now_us)
                               : counters_.apply(call.charges, call.results, call.now_us);
  if (is_answer(call.verdict)) call.results_known = call.results.size();
  if (record == nullptr) return;
  is_answer(call.verdict) && has_charged(call.charges, call.verdict) ? shard.keep(*record, call)
                                                                     : shard.erase(*record);
}

void RequestLog::refund_once(StoreCall& call) {
  assert(call.dedupe && call.refund_of_us != 0);
  call.forget_answer();
  call.verdict = Verdict::kAllowed;
  Shard& shard = shard_of(call.dedupe->id);
  const Lock lock(shard.mutex);
  RequestRecord* const record = shard.find(call.dedupe->id);
  call.replayed = record == nullptr || record->expired(clock_.now_us()) ||
                  record->fingerprint != call.dedupe->fingerprint || record->now_us != call.refund_of_us ||
                  (call.is_lease && record->terms != call.dedupe->terms);
  if (call.replayed) return;
  std::array<Charge, kLimitsPerCheckMax> charges;
  std::ranges::copy(call.charges, charges.begin());
  const std::span given(charges.data(), call.charges.size());
  if (call.is_lease) {
    call.granted = record->granted;
    for (Charge& charge : given) charge.cost = std::min(charge.cost, call.granted);
  }
  shard.erase(*record);
  call.verdict = counters_.refund(given, call.results, call.refund_of_us, call.now_us);
  call.results_known = call.results.size();
}

void RequestLog::tend() {
  Shard& shard = shards_[tended_.fetch_add(1, std::memory_order_relaxed) & shard_mask_];
  if (!shard.mutex.try_lock()) return;
  shard.expire(kCheckedPerTend, clock_.now_us());
  shard.mutex.unlock();
}

RequestLog::Stats RequestLog::stats() const {
  Stats stats;
  for (const Shard& shard : std::span(shards_.get(), shard_mask_ + 1)) {
    const Lock lock(shard.mutex);
    shard.add_to(stats);
  }
  return stats;
}

}  // namespace sluice

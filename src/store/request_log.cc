#include "store/request_log.h"

#include <algorithm>
#include <bit>
#include <cassert>
#include <new>
#include <span>

#include "base/limits.h"

namespace sluice {
namespace {

constexpr std::uint64_t kShardsMax = 64;

// Bytes of a shard for each chain of its table. Records are about that long, so chains are short.
constexpr std::uint64_t kBytesPerChain = 128;

// More than one, so that what has expired is found faster than new ids come.
constexpr int kCheckedPerInsertion = 4;
constexpr int kCheckedPerTend = 256;

// What a tenant costs beside its records: an entry in a map and one in a set.
constexpr std::uint64_t kTenantBytes = 192;

constexpr std::int64_t kTtlUsMin = 1'000;  // as in Redis, which counts milliseconds

// A ChargeResult in 24 bytes.
struct KeptResult {
  explicit KeptResult(const ChargeResult& result)
      : retry_after_us(result.outcome.retry_after_us),
        reset_after_us(result.outcome.reset_after_us),
        remaining(static_cast<std::uint32_t>(result.outcome.remaining)),
        denied_cost(static_cast<std::uint32_t>(result.denied_cost) & kDeniedCostMax),
        pressure(static_cast<std::uint32_t>(result.pressure) & 3),
        allowed(result.outcome.allowed) {}

  ChargeResult unpacked() const {
    return {.outcome = {.allowed = allowed != 0,
                        .remaining = remaining,
                        .retry_after_us = retry_after_us,
                        .reset_after_us = reset_after_us},
            .pressure = static_cast<Pressure>(pressure),
            .denied_cost = denied_cost};
  }

  std::int64_t retry_after_us, reset_after_us;
  std::uint32_t remaining;
  std::uint32_t denied_cost : 22, pressure : 2, allowed : 1;
};
static_assert(sizeof(KeptResult) == 24);

std::uint64_t bytes_max_of(const RequestLog::Options& options) {
  return std::max(options.bytes_max, RequestLog::Options::kBytesMin);
}

std::uint64_t shards_of(const RequestLog::Options& options) {
  return std::bit_floor(std::min(bytes_max_of(options) / RequestLog::Options::kBytesMin, kShardsMax));
}

}  // namespace

// What was answered. The results stand behind it in the same piece of memory.
struct RequestLog::Record {
  // What a record costs; the allocator keeps a few bytes of its own and rounds up.
  static std::uint64_t bytes_with(std::size_t results) {
    return (sizeof(Record) + results * sizeof(KeptResult) + 8 + 15) / 16 * 16;
  }

  KeptResult* kept() { return reinterpret_cast<KeptResult*>(this + 1); }

  // REQUIRES: the call has been answered, and has as many results as there is room for.
  void keep(const StoreCall& call) {
    fingerprint = call.dedupe->fingerprint;
    now_us = call.now_us;
    expires_us = call.now_us + std::max(call.dedupe->ttl_us, kTtlUsMin);
    verdict = call.verdict;
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
    if (call.results.size() != results) return;
    for (std::size_t i = 0; i < results; ++i) call.results[i] = kept()[i].unpacked();
    call.results_known = results;
  }

  bool expired(std::int64_t at_us) const { return at_us >= expires_us; }

  Record* next_in_chain = nullptr;
  Record* older = nullptr;
  Record* newer = nullptr;
  Tenant* tenant = nullptr;
  Record* older_of_tenant = nullptr;
  Record* newer_of_tenant = nullptr;
  KeyHash id;
  std::uint64_t fingerprint = 0;
  std::int64_t now_us = 0;
  std::int64_t expires_us = 0;
  Verdict verdict = Verdict::kNoAnswer;
  std::uint8_t results = 0;
};
static_assert(kLimitsPerCheckMax <= UINT8_MAX);

RequestLog::Shard::~Shard() {
  while (oldest_ != nullptr) erase(*oldest_);
}

RequestLog::Record* RequestLog::Shard::find(const KeyHash& id) const {
  if (chains_.empty()) return nullptr;
  Record* record = chains_[id.high & (chains_.size() - 1)];
  while (record != nullptr && record->id != id) record = record->next_in_chain;
  return record;
}

RequestLog::Record& RequestLog::Shard::insert(const Dedupe& dedupe, std::size_t results,
                                              std::int64_t now_us) {
  if (chains_.empty()) {
    chains_.resize(std::bit_floor(bytes_max_ / kBytesPerChain));
    bytes_ = chains_.size() * sizeof(Record*);
  }
  expire(kCheckedPerInsertion, now_us);
  const std::uint64_t bytes = Record::bytes_with(results);
  make_room(bytes + kTenantBytes, now_us);
  void* const memory = ::operator new(sizeof(Record) + results * sizeof(KeptResult));
  auto* const record = new (memory) Record;
  record->results = static_cast<std::uint8_t>(results);
  record->id = dedupe.id;
  try {
    record->tenant = &tenant_of(dedupe.owner);
  } catch (...) {
    ::operator delete(record);
    throw;
  }
  Record*& chain = chain_of(record->id);
  record->next_in_chain = chain;
  chain = record;
  record->older = newest_;
  (newest_ != nullptr ? newest_->newer : oldest_) = record;
  newest_ = record;
  Tenant& tenant = *record->tenant;
  record->older_of_tenant = tenant.newest;
  (tenant.newest != nullptr ? tenant.newest->newer_of_tenant : tenant.oldest) = record;
  tenant.newest = record;
  set_bytes(tenant, tenant.bytes + bytes);
  ++entries_;
  return *record;
}

void RequestLog::Shard::make_room(std::uint64_t bytes, std::int64_t now_us) {
  while (bytes_ + bytes > bytes_max_ && !by_bytes_.empty()) {
    Record& oldest = *(*by_bytes_.rbegin())->oldest;
    if (!oldest.expired(now_us)) ++evicted_;
    erase(oldest);
  }
}

// The tenant, a new one if need be. Throws std::bad_alloc, and then nothing has changed.
RequestLog::Tenant& RequestLog::Shard::tenant_of(std::uint64_t owner) {
  const auto [entry, is_new] = tenants_.try_emplace(owner, Tenant{.owner = owner});
  if (!is_new) return entry->second;
  try {
    by_bytes_.insert(&entry->second);
  } catch (...) {
    tenants_.erase(entry);
    throw;
  }
  set_bytes(entry->second, kTenantBytes);
  return entry->second;
}

void RequestLog::Shard::set_bytes(Tenant& tenant, std::uint64_t bytes) {
  auto place = by_bytes_.extract(&tenant);
  bytes_ += bytes - tenant.bytes;
  tenant.bytes = bytes;
  by_bytes_.insert(std::move(place));
}

void RequestLog::Shard::erase(Record& record) {
  Record** link = &chain_of(record.id);
  while (*link != &record) link = &(*link)->next_in_chain;
  *link = record.next_in_chain;
  (record.older != nullptr ? record.older->newer : oldest_) = record.newer;
  (record.newer != nullptr ? record.newer->older : newest_) = record.older;
  if (next_to_check_ == &record) next_to_check_ = record.newer;
  Tenant& tenant = *record.tenant;
  (record.older_of_tenant != nullptr ? record.older_of_tenant->newer_of_tenant : tenant.oldest) =
      record.newer_of_tenant;
  (record.newer_of_tenant != nullptr ? record.newer_of_tenant->older_of_tenant : tenant.newest) =
      record.older_of_tenant;
  set_bytes(tenant, tenant.bytes - Record::bytes_with(record.results));
  if (tenant.oldest == nullptr) {
    set_bytes(tenant, 0);
    by_bytes_.erase(&tenant);
    tenants_.erase(std::uint64_t{tenant.owner});
  }
  --entries_;
  ::operator delete(&record);
}

void RequestLog::Shard::expire(int records, std::int64_t now_us) {
  if (next_to_check_ == nullptr) next_to_check_ = oldest_;
  for (; records > 0 && next_to_check_ != nullptr; --records) {
    Record& record = *next_to_check_;
    next_to_check_ = record.newer;
    if (record.expired(now_us)) erase(record);
  }
}

void RequestLog::Shard::add_to(Stats& stats) const {
  stats.entries += entries_;
  stats.bytes += bytes_;
  stats.bytes_max += bytes_max_;
  stats.evicted += evicted_;
}

RequestLog::RequestLog(Store& store, const Clock& clock, const Options& options)
    : store_(store),
      clock_(clock),
      shard_mask_(shards_of(options) - 1),
      shards_(std::make_unique<Shard[]>(shard_mask_ + 1)) {
  for (Shard& shard : std::span(shards_.get(), shard_mask_ + 1))
    shard.open(bytes_max_of(options) / (shard_mask_ + 1));
}

void RequestLog::apply_once(StoreCall& call) {
  assert(call.dedupe && call.charges.size() == call.results.size());
  assert(call.charges.size() <= kLimitsPerCheckMax);
  call.replayed = call.conflict = false;
  call.results_known = 0;
  Shard& shard = shard_of(call.dedupe->id);
  const std::lock_guard lock(shard.mutex);
  const std::int64_t now_us = clock_.now_us();
  if (Record* known = shard.find(call.dedupe->id)) {
    if (!known->expired(now_us)) return known->replay(call);
    shard.erase(*known);
  }
  // The memory comes first: once the store has been charged, nothing may fail.
  Record& record = shard.insert(*call.dedupe, call.charges.size(), now_us);
  call.verdict = store_.apply(call.charges, call.results, call.now_us);
  if (!is_answer(call.verdict)) return shard.erase(record);
  call.results_known = call.results.size();
  record.keep(call);
}

void RequestLog::tend() {
  Shard& shard = shards_[tended_.fetch_add(1, std::memory_order_relaxed) & shard_mask_];
  const std::unique_lock lock(shard.mutex, std::try_to_lock);
  if (lock) shard.expire(kCheckedPerTend, clock_.now_us());
}

RequestLog::Stats RequestLog::stats() const {
  Stats stats;
  for (const Shard& shard : std::span(shards_.get(), shard_mask_ + 1)) {
    const std::lock_guard lock(shard.mutex);
    shard.add_to(stats);
  }
  return stats;
}

}  // namespace sluice

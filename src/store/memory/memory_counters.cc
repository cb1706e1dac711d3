#include "store/memory/memory_counters.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cassert>
#include <mutex>

#include "base/limits.h"
#include "store/memory/table/pending_charge.h"

namespace sluice {
namespace {

constexpr std::uint64_t kBytesPerShard = 512u << 10;
constexpr std::uint64_t kShardsMin = 16, kShardsMax = 4096;

// tend() checks this many slots, and releases the lock between steps.
constexpr std::uint32_t kTendSteps = 8, kTendStepSlots = 256;

// How many shards a check without room may ask for memory, and how many of them in vain. The last is the most
// memory it may need: what the largest log grows by.
constexpr int kReliefShardsMax = 8, kReliefInVainMax = 2;
constexpr std::uint64_t kReliefBytes = kSlidingLogMax / 2 * sizeof(LogEntry) + PagePool::kPageBytes;

std::uint64_t bytes_max_of(const MemoryCountersOptions& options) {
  return std::max(options.bytes_max, MemoryCountersOptions::kBytesMin);
}

std::uint32_t shards_of(const MemoryCountersOptions& options) {
  if (options.shards != 0) return options.shards;
  return static_cast<std::uint32_t>(
      std::bit_floor(std::clamp(bytes_max_of(options) / kBytesPerShard, kShardsMin, kShardsMax)));
}

// Holds the locks of several shards, each once. Locks are taken in the order of the shards' addresses, so
// that there is no deadlock.
class ShardLocks {
 public:
  // REQUIRES: shards.size() <= kLimitsPerCheckMax. Reorders them.
  explicit ShardLocks(std::span<Shard*> shards) {
    std::ranges::sort(shards);
    const auto repeated = std::ranges::unique(shards);
    held_ = shards.first(shards.size() - repeated.size());
    for (Shard* shard : held_) shard->lock.lock();
  }
  ~ShardLocks() {
    for (Shard* shard : held_) shard->lock.unlock();
  }
  ShardLocks(const ShardLocks&) = delete;
  ShardLocks& operator=(const ShardLocks&) = delete;

 private:
  std::span<Shard*> held_;
};

// Whether charges that are decided can be stored.
enum class Reserved : std::uint8_t {
  kYes,
  kNo,
  kMoved  // room was made; that moves slots, and may have forgotten an idle one of these: decide again
};

// kNo: `without_room` receives the index of the first that has none. REQUIRES: the locks of their shards are
// held.
Reserved reserve_all(std::span<PendingCharge> pending, bool all_fit, std::int64_t now_us,
                     std::size_t& without_room) {
  for (without_room = 0; without_room < pending.size(); ++without_room)
    if (!pending[without_room].reserve(all_fit)) return Reserved::kNo;
  if (!all_fit) return Reserved::kYes;
  for (without_room = 0; without_room < pending.size(); ++without_room) {
    const PendingCharge& each = pending[without_room];
    if (!each.is_new()) continue;
    const auto is_beside = [&](const PendingCharge& other) {
      return other.is_new() && &other.shard() == &each.shard();
    };
    const auto counters = static_cast<std::uint32_t>(std::ranges::count_if(pending, is_beside));
    if (each.shard().has_room(counters)) continue;
    return each.shard().make_room(counters, now_us) ? Reserved::kMoved : Reserved::kNo;
  }
  return Reserved::kYes;
}

}  // namespace

MemoryCounters::MemoryCounters(const Clock& clock, const ParamsTable& params,
                               const MemoryCountersOptions& options)
    : clock_(clock),
      params_(params),
      shard_mask_(shards_of(options) - 1),
      budget_(bytes_max_of(options)),
      pool_(budget_) {
  const std::uint32_t shards = shard_mask_ + 1;
  assert(std::has_single_bit(shards));
  // Hashes spread evenly; a shard never needs much more than its share.
  const std::uint32_t pages_per_shard = 2 * (pool_.pages_max() / shards) + 8;
  const std::size_t entries = std::size_t{pages_per_shard} * shards;
  directories_ = std::make_unique<std::atomic<std::uint32_t>[]>(entries);
  shards_ = std::make_unique<Shard[]>(shards);
  budget_.take(entries * sizeof(std::uint32_t) + shards * sizeof(Shard));
  for (std::uint32_t i = 0; i < shards; ++i)
    shards_[i].open(pool_, budget_, params_, &directories_[std::size_t{pages_per_shard} * i],
                    pages_per_shard);
}

Verdict MemoryCounters::apply(std::span<const Charge> charges, std::span<ChargeResult> results,
                              std::int64_t& now_us) {
  assert(charges.size() == results.size() && charges.size() <= kLimitsPerCheckMax);
  return charges.size() == 1 ? apply_one(charges[0], results[0], now_us)
                             : apply_several(charges, results, now_us);
}

// Flattened: nearly every check comes through here, and the intermediate values then stay in registers.
[[gnu::flatten]] Verdict MemoryCounters::apply_one(const Charge& charge, ChargeResult& result,
                                                   std::int64_t& now_us) {
  Shard& shard = shard_of(charge.key);
  shard.prefetch(charge.key);
  now_us = clock_.now_us();  // while the slot is being fetched
  bool fits = false, kept = false;
  {
    const Lock lock(shard.lock);
    PendingCharge pending;
    fits = pending.decide(shard, params_, charge, now_us, result);
    kept = pending.reserve(fits) && (!pending.settle(fits, result) || pending.insert() || !fits);
  }
  if (!kept) [[unlikely]]
    return on_no_room({&charge, 1}, {&result, 1}, now_us);
  return fits ? Verdict::kAllowed : Verdict::kDenied;
}

// Not inlined: otherwise apply() would set up its stack frame even when it calls apply_one().
[[gnu::noinline]] Verdict MemoryCounters::apply_several(std::span<const Charge> charges,
                                                        std::span<ChargeResult> results,
                                                        std::int64_t& now_us) {
  std::size_t without_room;
  const Verdict verdict = try_several(charges, results, now_us, without_room);
  return verdict == Verdict::kNoRoom ? on_no_room(charges, results, now_us) : verdict;
}

// kNoRoom: `without_room` receives the index of a charge that there is no memory for.
Verdict MemoryCounters::try_several(std::span<const Charge> charges, std::span<ChargeResult> results,
                                    std::int64_t& now_us, std::size_t& without_room) {
  std::array<Shard*, kLimitsPerCheckMax> shards;
  std::array<PendingCharge, kLimitsPerCheckMax> pending;
  std::array<bool, kLimitsPerCheckMax> is_new;
  const std::size_t n = charges.size();
  for (std::size_t i = 0; i < n; ++i) {
    shards[i] = &shard_of(charges[i].key);
    shards[i]->prefetch(charges[i].key);
  }
  now_us = clock_.now_us();
  const ShardLocks locks({shards.data(), n});
  bool all_fit;
  Reserved reserved;
  do {
    bool takes_memory = false;
    all_fit = true;
    for (std::size_t i = 0; i < n; ++i) {
      all_fit &= pending[i].decide(shard_of(charges[i].key), params_, charges[i], now_us, results[i]);
      takes_memory |= pending[i].is_new() || pending[i].may_grow();
    }
    reserved =
        takes_memory ? reserve_all({pending.data(), n}, all_fit, now_us, without_room) : Reserved::kYes;
    if (reserved == Reserved::kNo) return Verdict::kNoRoom;
  } while (reserved == Reserved::kMoved);
  for (std::size_t i = 0; i < n; ++i) is_new[i] = pending[i].settle(all_fit, results[i]);
  for (std::size_t i = 0; i < n; ++i)
    if (is_new[i]) pending[i].insert();  // a denial on a new counter may be lost without failing the check
  return all_fit ? Verdict::kAllowed : Verdict::kDenied;
}

// The check fits, but its shards have no memory for it. Other shards may have some, so it is tried once more.
// If that fails, too, charges that permit it are passed over. REQUIRES: no shard's lock is held.
[[gnu::noinline, gnu::cold]] Verdict MemoryCounters::on_no_room(std::span<const Charge> charges,
                                                                std::span<ChargeResult> results,
                                                                std::int64_t& now_us) {
  relieve(now_us);
  std::size_t without_room = 0;
  const Verdict verdict = try_several(charges, results, now_us, without_room);
  if (verdict != Verdict::kNoRoom) return verdict;
  no_room_.fetch_add(1, std::memory_order_relaxed);
  no_room_at_us_.store(now_us, std::memory_order_relaxed);
  return pass_over(charges, results, now_us, without_room);
}

// Leaves out the charge `without_room`, and further ones until there is memory for the rest. Every attempt is
// one atomic step, and those that fail charge nothing. REQUIRES: no shard's lock is held.
[[gnu::noinline, gnu::cold]] Verdict MemoryCounters::pass_over(std::span<const Charge> charges,
                                                               std::span<ChargeResult> results,
                                                               std::int64_t& now_us,
                                                               std::size_t without_room) {
  std::array<Charge, kLimitsPerCheckMax> counted;
  std::ranges::copy(charges, counted.begin());
  const std::span rest = std::span(counted).first(charges.size());
  Verdict verdict = Verdict::kNoRoom;
  while (verdict == Verdict::kNoRoom) {
    if (!charges[without_room].passes_without_room) return Verdict::kNoRoom;
    rest[without_room].cost = 0;  // a look needs no memory, and reports the level
    if (!has_charged(rest, Verdict::kAllowed)) return Verdict::kNoRoom;
    verdict = try_several(rest, results, now_us, without_room);
  }
  if (verdict != Verdict::kAllowed) return verdict;
  for (std::size_t i = 0; i < rest.size(); ++i) results[i].passed_over = rest[i].cost != charges[i].cost;
  return Verdict::kPartlyCounted;
}

// Shards release memory that they do not need, in turn. REQUIRES: no shard's lock is held.
void MemoryCounters::relieve(std::int64_t now_us) {
  for (int asked = 0, in_vain = 0; asked < kReliefShardsMax && in_vain < kReliefInVainMax; ++asked) {
    if (budget_.has_room(kReliefBytes)) return;
    Shard& shard = shards_[relieved_.fetch_add(1, std::memory_order_relaxed) & shard_mask_];
    const Lock lock(shard.lock);
    in_vain += !shard.release_memory(now_us);
  }
}

int MemoryCounters::reset(std::span<const KeyHash> keys) {
  int existed = 0;
  for (const KeyHash& key : keys) {
    Shard& shard = shard_of(key);
    const Lock lock(shard.lock);
    existed += shard.erase(key);
  }
  return existed;
}

void MemoryCounters::tend() {
  const std::int64_t now_us = clock_.now_us();
  for (std::uint32_t step = 0; step < kTendSteps; ++step) {
    Shard& shard = shards_[tended_.load(std::memory_order_relaxed) & shard_mask_];
    const std::unique_lock lock(shard.lock, std::try_to_lock);
    if (!lock) return;  // the shard is busy; its turn will come again
    if (!shard.expire(kTendStepSlots, now_us)) continue;
    shard.shrink();
    tended_.fetch_add(1, std::memory_order_relaxed);
  }
}

std::string MemoryCounters::bytes_of(const KeyHash& key) const {
  Shard& shard = shard_of(key);
  const Lock lock(shard.lock);
  const Slot* const slot = shard.find(key);
  if (slot == nullptr) return {};
  std::string bytes(reinterpret_cast<const char*>(slot), sizeof(Slot));
  for (const LogEntry& entry : shard.kept(*slot).log)
    bytes.append(reinterpret_cast<const char*>(&entry), sizeof(LogEntry));
  return bytes;
}

Counters::Stats MemoryCounters::stats() const {
  Stats stats;
  for (std::uint32_t i = 0; i <= shard_mask_; ++i) {
    const Lock lock(shards_[i].lock);
    shards_[i].add_to(stats);
  }
  stats.no_room = no_room_.load(std::memory_order_relaxed);
  stats.bytes = budget_.used();
  stats.bytes_max = budget_.max();
  return stats;
}

}  // namespace sluice

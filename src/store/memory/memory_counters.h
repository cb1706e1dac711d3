#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>

#include "base/clock.h"
#include "store/memory/counters.h"
#include "store/memory/table/byte_budget.h"
#include "store/memory/table/page_pool.h"
#include "store/memory/table/shard.h"
#include "store/params_table.h"

namespace sluice {

struct MemoryCountersOptions {
  std::uint64_t bytes_max = std::uint64_t{1} << 30;  // at least kBytesMin is used
  std::uint32_t shards = 0;                          // a power of two; 0: as many as suit bytes_max

  static constexpr std::uint64_t kBytesMin = std::uint64_t{1} << 20;
};

// The Counters of a MemoryStore: 32 bytes per counter, about one cache miss per charge. Thread-safe.
//
//   SystemClock clock;
//   ParamsTable params;
//   MemoryCounters counters(clock, params, {.bytes_max = 256 << 20});
//
// Counters are spread over shards by their hash. Each shard has a lock that is held for some tens of
// nanoseconds. A check on several counters takes the locks of all their shards, always in the same order, and
// so is one atomic step.
//
// Memory grows with use up to `bytes_max`, in small steps. A counter is forgotten only if it would decide
// like a fresh one (eviction.cc). When memory is used up, there is no room for a new counter, nor for a
// sliding log to grow: a check that would be allowed then passes over the charges that permit it
// (Charge::passes_without_room), or is answered kNoRoom and charges nothing at all. Denials are still
// denials, and looks are answered. The budget is exceeded by at most 40 bytes for each sliding log that
// concurrent checks begin, and by the memory of counters that become sliding logs because their limit did.
class MemoryCounters final : public Counters {
 public:
  // REQUIRES: clock and params outlive the counters. Throws std::bad_alloc.
  MemoryCounters(const Clock& clock, const ParamsTable& params, const MemoryCountersOptions& options = {});

  Verdict apply(std::span<const Charge> charges, std::span<ChargeResult> results,
                std::int64_t& now_us) override;
  Verdict refund(std::span<const Charge> charges, std::span<ChargeResult> results, std::int64_t granted_at_us,
                 std::int64_t& now_us) override;
  void prefetch(const KeyHash& key) const override { shard_of(key).prefetch(key); }
  int reset(std::span<const KeyHash> keys) override;
  std::int64_t no_room_at_us() const override { return no_room_at_us_.load(std::memory_order_relaxed); }
  void tend() override;
  Stats stats() const override;

  // The stored bytes of a counter; empty: there is none. For tests.
  std::string bytes_of(const KeyHash& key) const;

 private:
  Verdict apply_one(const Charge& charge, ChargeResult& result, std::int64_t& now_us);
  Verdict apply_several(std::span<const Charge> charges, std::span<ChargeResult> results,
                        std::int64_t& now_us);
  Verdict try_several(std::span<const Charge> charges, std::span<ChargeResult> results, std::int64_t& now_us,
                      std::size_t& without_room);
  Verdict on_no_room(std::span<const Charge> charges, std::span<ChargeResult> results, std::int64_t& now_us);
  Verdict pass_over(std::span<const Charge> charges, std::span<ChargeResult> results, std::int64_t& now_us,
                    std::size_t without_room);
  ChargeResult refund_one(const Charge& charge, const Grant& grant, std::int64_t now_us);
  void relieve(std::int64_t now_us);
  Shard& shard_of(const KeyHash& key) const { return shards_[key.low & shard_mask_]; }

  const Clock& clock_;
  const ParamsTable& params_;
  const std::uint32_t shard_mask_;
  ByteBudget budget_;
  PagePool pool_;
  std::unique_ptr<std::atomic<std::uint32_t>[]> directories_;
  std::unique_ptr<Shard[]> shards_;
  std::atomic<std::uint32_t> tended_ = 0;
  std::atomic<std::uint32_t> relieved_ = 0;
  std::atomic<std::uint64_t> no_room_ = 0;
  std::atomic<std::int64_t> no_room_at_us_ = 0;
};

}  // namespace sluice

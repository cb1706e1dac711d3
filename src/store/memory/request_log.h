#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "base/clock.h"
#include "base/mutex.h"
#include "store/memory/counters.h"
#include "store/memory/request_owners.h"
#include "store/store.h"

namespace sluice {

// Remembers the answer to each request id that was charged, so that a repeated request is charged once.
// Thread-safe.
//
//   RequestLog requests(counters, clock, {.bytes_max = 16 << 20});
//   requests.apply_once(call);  // charges, or repeats the recorded answer
//
// Looking up the id, charging the counters and recording the answer are one step: if several threads come
// with the same id at the same time, one charges and the others repeat its answer.
//
// A record takes about 140 bytes per id, 24 more for each further limit, and some hundred bytes per tenant
// and caller, up to `bytes_max`. After that, the owner that takes the most loses its oldest record
// (RequestOwners). So a caller that floods the log loses its own ids, not those of others. Such evictions are
// counted, because a repeat of that request would be charged again. Requests that charge nothing evict
// nothing. Expired records are removed a few at a time, at each insertion and in tend(), wherever they are in
// the list: ids that are stored for days do not hold up the removal of those that are stored for minutes.
class RequestLog {
 public:
  struct Options {
    std::uint64_t bytes_max = std::uint64_t{64} << 20;  // at least kBytesMin is used

    static constexpr std::uint64_t kBytesMin = 64u << 10;
  };
  struct Stats {
    std::uint64_t entries = 0;
    std::uint64_t bytes = 0;
    std::uint64_t bytes_max = 0;
    std::uint64_t evicted = 0;  // forgotten before they expired, for lack of memory
  };

  // REQUIRES: the clock is that of the counters; both outlive the log.
  RequestLog(Counters& counters, const Clock& clock, const Options& options);

  // Answers the call. An answer that has charged nothing is not recorded: the next try may get another one.
  // REQUIRES: call.dedupe. Throws std::bad_alloc, and then has charged nothing.
  void apply_once(StoreCall& call);

  // Gives back what the call with this id has charged, once: the record is removed in the same step. If it is
  // gone, or is that of another call, nothing is given back, and the call is `replayed`.
  // REQUIRES: call.dedupe; call.refund_of_us != 0
  void refund_once(StoreCall& call);

  // A small piece of upkeep; never waits.
  void tend();

  Stats stats() const;

 private:
  // A part of the ids. Its records are in a list from the oldest to the newest, in the list of their owner,
  // and in a hash table with chains.
  class Shard {
   public:
    ~Shard();
    void open(std::uint64_t bytes_max) {
      const Lock lock(mutex);
      bytes_max_ = bytes_max;
    }
    RequestRecord* find(const KeyHash& id) const SLUICE_REQUIRES(mutex);
    // Inserts a record that counts as expired, and takes no owner's memory, until keep(). Throws
    // std::bad_alloc.
    RequestRecord& insert(const Dedupe& dedupe, std::size_t results, std::int64_t now_us)
        SLUICE_REQUIRES(mutex);
    // Records the call's answer; evicts other records if they take too much memory.
    void keep(RequestRecord& record, const StoreCall& call) SLUICE_REQUIRES(mutex);
    void erase(RequestRecord& record) SLUICE_REQUIRES(mutex);
    // Looks at the next `records` records in turn and removes those that have expired.
    void expire(int records, std::int64_t now_us) SLUICE_REQUIRES(mutex);
    void add_to(Stats& stats) const SLUICE_REQUIRES(mutex);

    mutable Mutex mutex;

   private:
    RequestRecord*& chain_of(const KeyHash& id) SLUICE_REQUIRES(mutex) {
      return chains_[id.high & (chains_.size() - 1)];
    }
    std::uint64_t bytes() const SLUICE_REQUIRES(mutex) {
      return chains_.size() * sizeof(RequestRecord*) + owners_.bytes();
    }
    void make_room(std::uint64_t bytes, std::int64_t now_us) SLUICE_REQUIRES(mutex);

    std::vector<RequestRecord*> chains_
        SLUICE_GUARDED_BY(mutex);  // the size is a power of two, or 0 before the first record
    RequestRecord* oldest_ SLUICE_GUARDED_BY(mutex) = nullptr;
    RequestRecord* newest_ SLUICE_GUARDED_BY(mutex) = nullptr;
    RequestRecord* next_to_check_ SLUICE_GUARDED_BY(mutex) = nullptr;  // null: the oldest
    RequestOwners owners_ SLUICE_GUARDED_BY(mutex);
    std::uint64_t entries_ SLUICE_GUARDED_BY(mutex) = 0;
    std::uint64_t bytes_max_ SLUICE_GUARDED_BY(mutex) = 0;
    std::uint64_t evicted_ SLUICE_GUARDED_BY(mutex) = 0;
  };

  Shard& shard_of(const KeyHash& id) const { return shards_[id.low & shard_mask_]; }

  Counters& counters_;
  const Clock& clock_;
  const std::uint64_t shard_mask_;
  std::unique_ptr<Shard[]> shards_;
  std::atomic<std::uint64_t> tended_ = 0;
};

}  // namespace sluice

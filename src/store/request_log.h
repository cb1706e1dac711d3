#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

#include "base/clock.h"
#include "store/async_store.h"
#include "store/request_owners.h"

namespace sluice {

// Remembers the answer to each request id that was charged, so that a request that comes twice is charged
// once. Thread-safe.
//
//   RequestLog requests(store, clock, {.bytes_max = 16 << 20});
//   requests.apply_once(call);  // charges, or repeats what was answered before
//
// Looking up the id, charging the store and keeping the answer are one step: of several threads that come
// with the same id at the same time, one charges and the others repeat its answer.
//
// About 140 bytes per id, 24 more for each further limit, and some hundred per tenant and caller, up to
// `bytes_max`; then the one that takes the most loses its oldest one, which is counted: if that request came
// again now, it would be charged again. RequestOwners says who that is: whoever floods it forgets its own
// ids, not those of others. What charges nothing pushes nothing out. What has expired goes a few at each
// insertion and in tend(), wherever it stands, so ids that are kept for days do not hold up those that are
// kept for minutes.
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
    std::uint64_t evicted = 0;  // forgotten before their time, for lack of memory
  };

  // REQUIRES: the clock is the store's own; both outlive the log.
  RequestLog(Store& store, const Clock& clock, const Options& options);

  // Answers the call. What has charged nothing is not remembered: the next try may get another answer.
  // REQUIRES: call.dedupe. Throws std::bad_alloc, and has charged nothing then.
  void apply_once(StoreCall& call);

  // A small piece of upkeep; never waits.
  void tend();

  Stats stats() const;

 private:
  // A part of the ids. Its records are in a list from the oldest to the newest, in that of their owner, and
  // in a hash table of chains. All but the mutex wants the mutex held.
  class Shard {
   public:
    ~Shard();
    void open(std::uint64_t bytes_max) { bytes_max_ = bytes_max; }
    RequestRecord* find(const KeyHash& id) const;
    // A record that has expired already, and takes nobody's room, until it is kept. Throws std::bad_alloc.
    RequestRecord& insert(const Dedupe& dedupe, std::size_t results, std::int64_t now_us);
    // What the call was answered; others make room for it.
    void keep(RequestRecord& record, const StoreCall& call);
    void erase(RequestRecord& record);
    // Looks at the next `records` in turn and lets go of those that have expired.
    void expire(int records, std::int64_t now_us);
    void add_to(Stats& stats) const;

    mutable std::mutex mutex;

   private:
    RequestRecord*& chain_of(const KeyHash& id) { return chains_[id.high & (chains_.size() - 1)]; }
    std::uint64_t bytes() const { return chains_.size() * sizeof(RequestRecord*) + owners_.bytes(); }
    void make_room(std::uint64_t bytes, std::int64_t now_us);

    std::vector<RequestRecord*> chains_;  // a power of two of them; none before the first record
    RequestRecord* oldest_ = nullptr;
    RequestRecord* newest_ = nullptr;
    RequestRecord* next_to_check_ = nullptr;  // null: the oldest
    RequestOwners owners_;
    std::uint64_t entries_ = 0;
    std::uint64_t bytes_max_ = 0;
    std::uint64_t evicted_ = 0;
  };

  Shard& shard_of(const KeyHash& id) const { return shards_[id.low & shard_mask_]; }

  Store& store_;
  const Clock& clock_;
  const std::uint64_t shard_mask_;
  std::unique_ptr<Shard[]> shards_;
  std::atomic<std::uint64_t> tended_ = 0;
};

}  // namespace sluice

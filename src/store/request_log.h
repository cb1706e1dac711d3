#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <set>
#include <unordered_map>
#include <vector>

#include "base/clock.h"
#include "store/async_store.h"

namespace sluice {

// Remembers the first answer to each request id, so that a request that comes twice is charged once.
// Thread-safe.
//
//   RequestLog requests(store, clock, {.bytes_max = 16 << 20});
//   requests.apply_once(call);  // charges, or repeats what was answered before
//
// Looking up the id, charging the store and keeping the answer are one step: of several threads that come
// with the same id at the same time, one charges and the others repeat its answer.
//
// About 140 bytes per id, 24 more for each further limit, and 200 per tenant, up to `bytes_max`; then the
// tenant that takes the most loses its oldest one, which is counted: if that request came again now, it would
// be charged again. So a tenant that floods it forgets its own ids and not those of others, and of n tenants
// each has an n-th that nobody can take from it. What has expired goes a few at each insertion and in tend(),
// wherever it stands, so ids that are kept for days do not hold up those that are kept for minutes.
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

  // Answers the call. No answer of the store is not remembered: the next try may get one.
  // REQUIRES: call.dedupe. Throws std::bad_alloc, and has charged nothing then.
  void apply_once(StoreCall& call);

  // A small piece of upkeep; never waits.
  void tend();

  Stats stats() const;

 private:
  struct Record;
  // The records of one tenant in a shard, from the oldest to the newest.
  struct Tenant {
    std::uint64_t owner = 0;
    std::uint64_t bytes = 0;
    Record* oldest = nullptr;
    Record* newest = nullptr;
  };
  struct TakesLess {
    bool operator()(const Tenant* a, const Tenant* b) const {
      return a->bytes != b->bytes ? a->bytes < b->bytes : a->owner < b->owner;
    }
  };

  // A part of the ids. Its records are in a list from the oldest to the newest, in that of their tenant, and
  // in a hash table of chains. All but the mutex wants the mutex held.
  class Shard {
   public:
    ~Shard();
    void open(std::uint64_t bytes_max) { bytes_max_ = bytes_max; }
    Record* find(const KeyHash& id) const;
    // A record that has expired already, until it is filled in; others make room for it.
    Record& insert(const Dedupe& dedupe, std::size_t results, std::int64_t now_us);
    void erase(Record& record);
    // Looks at the next `records` in turn and lets go of those that have expired.
    void expire(int records, std::int64_t now_us);
    void add_to(Stats& stats) const;

    mutable std::mutex mutex;

   private:
    Record*& chain_of(const KeyHash& id) { return chains_[id.high & (chains_.size() - 1)]; }
    void make_room(std::uint64_t bytes, std::int64_t now_us);
    Tenant& tenant_of(std::uint64_t owner);
    void set_bytes(Tenant& tenant, std::uint64_t bytes);

    std::vector<Record*> chains_;  // a power of two of them; none before the first record
    Record* oldest_ = nullptr;
    Record* newest_ = nullptr;
    Record* next_to_check_ = nullptr;  // null: the oldest
    std::unordered_map<std::uint64_t, Tenant> tenants_;
    std::set<Tenant*, TakesLess> by_bytes_;  // all of them
    std::uint64_t entries_ = 0;
    std::uint64_t bytes_ = 0;
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

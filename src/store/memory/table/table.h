#pragma once

#include <atomic>
#include <cassert>
#include <cstdint>

#include "store/memory/table/page_pool.h"
#include "store/memory/table/slot.h"

namespace sluice {

// A hash table of Slots over pages of a PagePool, which grows and shrinks in small steps without a second
// copy. Not thread-safe, except prefetch().
//
// Sorted linear probing. A slot's home is its hash scaled to the table's size. Slots are kept in the order of
// their hashes, behind their homes without a gap. Hence
//  - a search walks from the home to the first slot that does not come before the key, whether the key is
//    there or not;
//  - a table of any size is as good as one of a power of two: growing by an eighth keeps the load between ¾
//    and 0.85;
//  - growing is a walk in order: there is no rehash into new memory, and there are no tombstones.
//
// The order is by descending hash, so that an empty slot's zero ends a search by the same comparison. The
// last slots are nobody's home. They take the overflow, and the very last one stays empty to end every
// search.
class Table {
 public:
  // The directory maps the table's pages to the pool's. It never moves, so that prefetch() may read it at any
  // time. REQUIRES: directory has pages_max >= 1 entries and outlives the table. Throws std::bad_alloc if
  // there is no first page.
  void open(PagePool& pool, std::atomic<std::uint32_t>* directory, std::uint32_t pages_max);

  // Starts to fetch the key's slot into the cache. Thread-safe: a stale read costs time, nothing else.
  void prefetch(const KeyHash& key) const {
    const std::uint32_t home = home_of(key.high, homes_.load(std::memory_order_relaxed));
    const char* line = reinterpret_cast<const char*>(slot(home));
    __builtin_prefetch(line, 1);
    __builtin_prefetch(line + 64, 1);
  }

  // The key's slot, or null. Valid until the table changes.
  Slot* find(const KeyHash& key) {
    const Position position = lower_bound(key);
    return position.slot->key() == key && !position.slot->empty() ? position.slot : nullptr;
  }

  // False if this many more keys would make searches long: grow() first, or erase.
  bool has_room(std::uint32_t keys) const { return count_ + keys <= room_of(pages_); }

  // Makes a slot for the key; the caller fills it in before anything else is called.
  // REQUIRES: has_room(1), the key is not there.
  Slot* insert(const KeyHash& key);

  // REQUIRES: the slot at `index` is not empty. The following slots move up, so the same index may hold
  // another key afterwards.
  void erase(std::uint32_t index);

  // Adds an eighth, at least a page; false if there is no page to be had.
  bool grow();
  // Releases pages that are no longer needed; true if it did.
  bool shrink();
  // Releases a single page as soon as the others have room; true if it did.
  bool release_page();

  // For sweeps: every key is at some index below slots().
  // REQUIRES: index < slots().
  Slot& at(std::uint32_t index) { return *slot(index); }
  // REQUIRES: the key is there.
  std::uint32_t index_of(const KeyHash& key) const { return lower_bound(key).index; }
  std::uint32_t slots() const { return pages_ << PagePool::kSlotsPerPageBits; }
  std::uint32_t count() const { return count_; }
  std::uint32_t pages() const { return pages_; }

 private:
  static constexpr std::uint32_t kLoadNumerator = 17, kLoadDenominator = 20;  // 0.85
  static constexpr std::uint32_t kTailSlots =
      32;  // displacements this long are rare at that load; see insert()
  struct Position {
    std::uint32_t index;
    Slot* slot;
  };

  // How many homes this many pages have, unless their tail overflowed, and how many keys they have room for.
  // The room is the same after an overflow: one insertion costs at most one key its place.
  static std::uint32_t homes_of(std::uint32_t pages) {
    return (pages << PagePool::kSlotsPerPageBits) - kTailSlots;
  }
  static std::uint32_t room_of(std::uint32_t pages) {
    return static_cast<std::uint32_t>(std::uint64_t{homes_of(pages)} * kLoadNumerator / kLoadDenominator);
  }
  std::uint32_t homes() const { return homes_.load(std::memory_order_relaxed); }
  static std::uint32_t home_of(std::uint64_t key_high, std::uint32_t homes) {
    __extension__ using Wide = unsigned __int128;
    return static_cast<std::uint32_t>(Wide{~key_high} * homes >> 64);
  }
  Slot* slot(std::uint32_t index) const {
    const std::uint32_t page =
        directory_[index >> PagePool::kSlotsPerPageBits].load(std::memory_order_relaxed);
    return pool_slots_ + (std::size_t{page} << PagePool::kSlotsPerPageBits) + index % PagePool::kSlotsPerPage;
  }
  // The next slot, which is the next in memory unless a page ends.
  Position after(Position p) const {
    ++p.index;
    ++p.slot;
    if (p.index % PagePool::kSlotsPerPage == 0) [[unlikely]]
      p.slot = slot(p.index);
    return p;
  }
  // Where the key is, or where it would be inserted.
  Position lower_bound(const KeyHash& key) const {
    const std::uint32_t home = home_of(key.high, homes());
    Position p{home, slot(home)};
    while (p.slot->key_high() > key.high) p = after(p);
    while (p.slot->key() > key) p = after(p);  // 2^-64 of all pairs agree in the high half
    return p;
  }
  void rebuild(std::uint32_t pages, std::uint32_t homes);
  void shrink_to(std::uint32_t pages);
  std::uint32_t pack_at_end(std::uint32_t end);
  std::uint32_t last_index(std::uint32_t first, std::uint32_t end, std::uint32_t homes) const;

  std::atomic<std::uint32_t> homes_ = 0;
  std::uint32_t count_ = 0;
  std::atomic<std::uint32_t>* directory_ = nullptr;
  Slot* pool_slots_ = nullptr;
  PagePool* pool_ = nullptr;
  std::uint32_t pages_ = 0;
  std::uint32_t pages_max_ = 0;
};

}  // namespace sluice

#include "store/memory/table/table.h"

#include <algorithm>
#include <new>

namespace sluice {

void Table::open(PagePool& pool, std::atomic<std::uint32_t>* directory, std::uint32_t pages_max) {
  assert(pages_max >= 1);
  const auto page = pool.allocate();
  if (!page) throw std::bad_alloc();
  pool_ = &pool;
  pool_slots_ = pool.slots(0);
  directory_ = directory;
  directory_[0] = *page;
  pages_ = 1;
  pages_max_ = pages_max;
  homes_ = homes_of(1);
}

Slot* Table::insert(const KeyHash& key) {
  assert(has_room(1));
  for (;;) {
    const Position position = lower_bound(key);
    Position hole = position;
    while (!hole.slot->empty()) hole = after(hole);
    if (hole.index + 1 == slots()) {
      // The tail has overflowed. Fewer homes make a longer tail; as there is room, some number of homes will
      // do.
      rebuild(pages_, homes() - std::max(homes() / 16, 1u));
      continue;
    }
    Slot moving(key);
    for (Position p = position;; p = after(p)) {
      std::swap(moving, *p.slot);
      if (p.index == hole.index) break;
    }
    ++count_;
    return position.slot;
  }
}

void Table::erase(std::uint32_t index) {
  Position hole{index, slot(index)};
  assert(!hole.slot->empty());
  for (;;) {
    const Position next = after(hole);
    // A slot that is at home stays, and so do all behind it. The last slot is always empty.
    if (next.slot->empty() || home_of(next.slot->key_high(), homes()) == next.index) break;
    *hole.slot = *next.slot;
    hole = next;
  }
  *hole.slot = Slot();
  --count_;
}

bool Table::grow() {
  const std::uint32_t wanted = std::min(pages_ + std::max(pages_ / 8, 1u), pages_max_);
  std::uint32_t pages = pages_;
  for (; pages < wanted; ++pages) {
    const auto page = pool_->allocate();
    if (!page) break;
    directory_[pages].store(*page, std::memory_order_relaxed);
  }
  if (pages == pages_) return false;
  rebuild(pages, homes_of(pages));
  return true;
}

bool Table::shrink() {
  // Shrinks only if the load is below a third, and then to a half, so that it need not grow again at once.
  if (pages_ == 1 || std::uint64_t{count_} * 3 >= slots()) return false;
  shrink_to(std::max((count_ * 2 + PagePool::kSlotsPerPage - 1) >> PagePool::kSlotsPerPageBits, 1u));
  return true;
}

bool Table::release_page() {
  if (pages_ == 1 || count_ >= room_of(pages_ - 1)) return false;
  shrink_to(pages_ - 1);
  return true;
}

void Table::shrink_to(std::uint32_t pages) {
  const std::uint32_t pages_before = pages_;
  rebuild(pages, homes_of(pages));
  for (std::uint32_t i = pages; i < pages_before; ++i)
    pool_->release(directory_[i].load(std::memory_order_relaxed));
}

// Lays all slots out anew over `pages` pages and about `homes` homes. To do so in place, all slots are first
// pushed to the far end: laying out from the front then never overtakes what is still to be read.
void Table::rebuild(std::uint32_t pages, std::uint32_t homes) {
  const std::uint32_t end = std::max(pages, pages_) << PagePool::kSlotsPerPageBits;
  const std::uint32_t first = pack_at_end(end);
  pages_ = pages;
  while (last_index(first, end, homes) + 1 >= slots()) homes -= std::max(homes / 16, 1u);
  homes_.store(homes, std::memory_order_relaxed);

  std::uint32_t free = 0;
  for (std::uint32_t from = first; from < end; ++from) {
    const Slot moving = at(from);
    at(from) = Slot();
    const std::uint32_t to = std::max(home_of(moving.key_high(), homes), free);
    assert(to <= from);
    at(to) = moving;
    free = to + 1;
  }
}

// Moves all slots to the end of the first `end` slots, without gaps, and returns the index of the first.
std::uint32_t Table::pack_at_end(std::uint32_t end) {
  std::uint32_t to = end;
  for (std::uint32_t from = slots(); from-- > 0;) {
    if (at(from).empty()) continue;
    if (--to == from) continue;
    at(to) = at(from);
    at(from) = Slot();
  }
  return to;
}

// Where the last of the packed slots would be placed with this many homes.
std::uint32_t Table::last_index(std::uint32_t first, std::uint32_t end, std::uint32_t homes) const {
  std::uint32_t free = 0;
  for (std::uint32_t i = first; i < end; ++i) free = std::max(home_of(slot(i)->key_high(), homes), free) + 1;
  return free == 0 ? 0 : free - 1;
}

}  // namespace sluice

#pragma once

#include <array>
#include <atomic>
#include <cassert>
#include <cstddef>
#include <cstdint>

namespace sluice {

// The units of one key that this process may spend without asking the server: those of at most two leases,
// the one in use and the next one. spend() is thread-safe, lock-free and allocates nothing. All else belongs
// to one thread, the one that talks to the server.
//
//   const Spend spend = bucket.spend(1, now_us);
//   if (spend.wakes_owner) post([&] { owner.refill(bucket); });   // once, until refill_answered()
//   if (spend.spent) return allowed();
//
// Each unit is spent once or taken back, never both, and none is spent after its lease has expired. The time
// must come from a monotonic clock: then no clock that is set brings an expired unit back.
class LeaseBucket {
 public:
  struct Spend {
    bool spent = false;
    bool wakes_owner = false;  // units run low, and nobody has been told yet
  };

  // Takes `cost` units from one of the leases. A cost that neither of them has alone is not spent.
  // REQUIRES: cost >= 0
  Spend spend(std::int64_t cost, std::int64_t now_us) {
    const std::size_t in_use = in_use_.load(std::memory_order_relaxed);
    const bool spent = parts_[in_use].spend(cost, now_us) || parts_[1 - in_use].spend(cost, now_us);
    if (!spent) missed_.fetch_add(cost, std::memory_order_relaxed);
    if (spent && left() >= refill_below_.load(std::memory_order_relaxed)) [[likely]]
      return {.spent = true};
    return {.spent = spent, .wakes_owner = !is_refilling_.exchange(true, std::memory_order_relaxed)};
  }

  // The units that are left, expired or not.
  std::int64_t left() const {
    return parts_[0].left.load(std::memory_order_relaxed) + parts_[1].left.load(std::memory_order_relaxed);
  }

  // --- for the owner ---

  // Puts the units of a lease into the part that is free, after those that are left.
  // REQUIRES: has_free_part(); units >= 0
  std::size_t add(std::int64_t units, std::int64_t expires_us);

  // Empties the part and returns the units that were not spent. They cannot be spent any more.
  std::int64_t take_back(std::size_t part);

  bool has_free_part() const { return !parts_[0].is_used || !parts_[1].is_used; }
  bool is_used(std::size_t part) const { return parts_[part].is_used; }
  std::int64_t left(std::size_t part) const { return parts_[part].left.load(std::memory_order_relaxed); }
  std::int64_t expires_us(std::size_t part) const {
    return parts_[part].expires_us.load(std::memory_order_relaxed);
  }

  // From now on spend() wakes the owner again, when fewer than `below` units are left or none fit.
  void refill_answered(std::int64_t below) {
    refill_below_.store(below, std::memory_order_relaxed);
    is_refilling_.store(false, std::memory_order_relaxed);
  }

  // The cost of the spend() calls that found too little since the last call of this.
  std::int64_t take_missed() { return missed_.exchange(0, std::memory_order_relaxed); }

  static constexpr std::size_t kParts = 2;

 private:
  struct Part {
    std::atomic<std::int64_t> left{0};
    std::atomic<std::int64_t> expires_us{0};
    bool is_used = false;  // the owner's: it holds a lease, spent or not

    bool spend(std::int64_t cost, std::int64_t now_us) {
      // The expiry is read before the units and written before them. So units are never spent by the expiry
      // of the lease that comes after theirs.
      if (now_us >= expires_us.load(std::memory_order_acquire)) return false;
      std::int64_t units = left.load(std::memory_order_acquire);
      while (units >= cost)
        if (left.compare_exchange_weak(units, units - cost, std::memory_order_acq_rel,
                                       std::memory_order_acquire))
          return true;
      return false;
    }
  };

  std::array<Part, kParts> parts_;
  std::atomic<std::uint8_t> in_use_{0};  // the part that is spent first
  std::atomic<bool> is_refilling_{false};
  std::atomic<std::int64_t> refill_below_{0};
  std::atomic<std::int64_t> missed_{0};
};

inline std::size_t LeaseBucket::add(std::int64_t units, std::int64_t expires_us) {
  assert(has_free_part() && units >= 0);
  const std::size_t index = parts_[0].is_used ? 1 : 0;
  Part& part = parts_[index];
  part.is_used = true;
  part.expires_us.store(expires_us, std::memory_order_release);
  part.left.store(units, std::memory_order_release);
  // The other part, if it holds a lease, is the older one and stays first.
  if (!parts_[1 - index].is_used) in_use_.store(static_cast<std::uint8_t>(index), std::memory_order_relaxed);
  return index;
}

inline std::int64_t LeaseBucket::take_back(std::size_t index) {
  Part& part = parts_[index];
  const std::int64_t unused = part.left.exchange(0, std::memory_order_acq_rel);
  part.expires_us.store(0, std::memory_order_release);
  part.is_used = false;
  in_use_.store(static_cast<std::uint8_t>(1 - index), std::memory_order_relaxed);
  return unused;
}

}  // namespace sluice

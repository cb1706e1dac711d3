#pragma once

#include <array>
#include <atomic>
#include <cassert>
#include <cstddef>
#include <cstdint>

namespace sluice {

// The units of one key that this process may spend without asking the server: those of at most two leases,
// the one in use and the next one. spend() and why_empty() are thread-safe, lock-free and allocate nothing.
// All else belongs to one thread, the one that talks to the server.
//
//   const Spend spend = bucket.spend(1, now_us);
//   if (spend.wakes_owner) post([&] { owner.refill(bucket); });   // once, until refill_answered()
//   if (spend.spent) return allowed();
//
// Each unit is spent once or taken back, never both, and none is spent after its lease has expired. The time
// must come from a monotonic clock: then no clock that is set brings an expired unit back.
//
// A bucket may be used for one key after the other. Its generation says for which, and is part of the word
// that is exchanged when units are spent: whoever was still busy with the key before finds another word, and
// spends nothing.
class LeaseBucket {
 public:
  using Generation = std::uint32_t;
  static constexpr Generation kGenerations = 1u << 31;
  static constexpr std::int64_t kUnitsMax = INT32_MAX;

  struct Spend {
    bool spent = false;
    bool wakes_owner = false;  // units run low, and nobody has been told yet
    bool is_safe = false;      // they were of a safe capacity: no server has charged them
  };

  // Why nothing was spent.
  enum class Empty : std::uint8_t {
    kAsking,      // an answer will come, or has just come
    kDenied,      // the server has said that there is no room before denied_until_us()
    kServerGone,  // the failure rule decides
  };

  Generation generation() const { return generation_.load(std::memory_order_acquire); }

  // Takes `cost` units from one of the leases. A cost that neither of them has alone is not spent.
  // REQUIRES: cost >= 0
  Spend spend(std::int64_t cost, std::int64_t now_us, Generation generation = 0) {
    const std::size_t in_use = in_use_.load(std::memory_order_relaxed);
    Spend spend;
    spend.spent = parts_[in_use].spend(cost, now_us, generation, spend.is_safe) ||
                  parts_[1 - in_use].spend(cost, now_us, generation, spend.is_safe);
    if (spend.spent && left() >= refill_below_.load(std::memory_order_relaxed)) [[likely]]
      return spend;
    if (generation_.load(std::memory_order_relaxed) != generation) return spend;
    if (!spend.spent) missed_.fetch_add(cost, std::memory_order_relaxed);
    spend.wakes_owner = !is_refilling_.load(std::memory_order_relaxed) &&
                        !is_refilling_.exchange(true, std::memory_order_relaxed);
    return spend;
  }

  Empty why_empty(std::int64_t now_us) const {
    if (now_us < denied_until_us()) return Empty::kDenied;
    return is_gone() ? Empty::kServerGone : Empty::kAsking;
  }
  std::int64_t denied_until_us() const { return denied_until_us_.load(std::memory_order_acquire); }
  bool is_gone() const { return is_gone_.load(std::memory_order_acquire); }

  // The units that are left, expired or not.
  std::int64_t left() const { return left(0) + left(1); }

  // --- for the owner ---

  // From now on for another key. REQUIRES: both parts are free; generation < kGenerations
  void begin(Generation generation);

  // Puts the units of a lease into the part that is free, after those that are left.
  // REQUIRES: has_free_part(); 0 <= units <= kUnitsMax
  std::size_t add(std::int64_t units, std::int64_t expires_us, bool is_safe = false);

  // Empties the part and returns the units that were not spent. They cannot be spent any more.
  std::int64_t take_back(std::size_t part);

  bool has_free_part() const { return !parts_[0].is_used || !parts_[1].is_used; }
  bool is_used(std::size_t part) const { return parts_[part].is_used; }
  std::int64_t left(std::size_t part) const {
    return units_of(parts_[part].word.load(std::memory_order_relaxed));
  }
  std::int64_t expires_us(std::size_t part) const {
    return parts_[part].expires_us.load(std::memory_order_relaxed);
  }

  // From now on spend() wakes the owner again, when fewer than `below` units are left or none fit.
  void refill_answered(std::int64_t below) {
    refill_below_.store(below, std::memory_order_relaxed);
    is_refilling_.store(false, std::memory_order_relaxed);
  }
  void deny_until(std::int64_t until_us) { denied_until_us_.store(until_us, std::memory_order_release); }
  void set_gone(bool is_gone) { is_gone_.store(is_gone, std::memory_order_release); }

  // The cost of the spend() calls that found too little since the last call of this.
  std::int64_t take_missed() { return missed_.exchange(0, std::memory_order_relaxed); }

  static constexpr std::size_t kParts = 2;

 private:
  // Units in the lower half, the generation above, and between them whether it is a safe capacity.
  using Word = std::uint64_t;
  static constexpr Word kSafe = Word{1} << 32;
  static constexpr int kGenerationShift = 33;
  static std::int64_t units_of(Word word) { return static_cast<std::int64_t>(word & 0xffffffffu); }
  static Word word_of(Generation generation, bool is_safe, std::int64_t units) {
    return Word{generation} << kGenerationShift | (is_safe ? kSafe : 0) | static_cast<Word>(units);
  }

  struct Part {
    std::atomic<Word> word{0};
    std::atomic<std::int64_t> expires_us{0};
    bool is_used = false;  // the owner's: it holds a lease, spent or not

    bool spend(std::int64_t cost, std::int64_t now_us, Generation generation, bool& is_safe) {
      // The expiry is read before the units and written before them. So units are never spent by the expiry
      // of the lease that comes after theirs.
      if (now_us >= expires_us.load(std::memory_order_acquire)) return false;
      Word seen = word.load(std::memory_order_acquire);
      while (units_of(seen) >= cost && seen >> kGenerationShift == generation)
        if (word.compare_exchange_weak(seen, seen - static_cast<Word>(cost), std::memory_order_acq_rel,
                                       std::memory_order_acquire)) {
          is_safe = (seen & kSafe) != 0;
          return true;
        }
      return false;
    }
  };

  std::array<Part, kParts> parts_;
  std::atomic<std::int64_t> refill_below_{0};
  std::atomic<Generation> generation_{0};
  std::atomic<std::uint8_t> in_use_{0};  // the part that is spent first
  std::atomic<bool> is_refilling_{false};
  std::atomic<bool> is_gone_{false};
  std::atomic<std::int64_t> missed_{0};
  std::atomic<std::int64_t> denied_until_us_{0};
};

inline void LeaseBucket::begin(Generation generation) {
  assert(!parts_[0].is_used && !parts_[1].is_used);
  for (Part& part : parts_) part.word.store(word_of(generation, false, 0), std::memory_order_release);
  deny_until(0);
  set_gone(false);
  take_missed();
  refill_answered(0);
  generation_.store(generation, std::memory_order_release);
}

inline std::size_t LeaseBucket::add(std::int64_t units, std::int64_t expires_us, bool is_safe) {
  assert(has_free_part() && units >= 0 && units <= kUnitsMax);
  const std::size_t index = parts_[0].is_used ? 1 : 0;
  Part& part = parts_[index];
  part.is_used = true;
  part.expires_us.store(expires_us, std::memory_order_release);
  part.word.store(word_of(generation(), is_safe, units), std::memory_order_release);
  // The other part, if it holds a lease, is the older one and stays first.
  if (!parts_[1 - index].is_used) in_use_.store(static_cast<std::uint8_t>(index), std::memory_order_relaxed);
  return index;
}

inline std::int64_t LeaseBucket::take_back(std::size_t index) {
  Part& part = parts_[index];
  const Word last = part.word.exchange(word_of(generation(), false, 0), std::memory_order_acq_rel);
  part.expires_us.store(0, std::memory_order_release);
  part.is_used = false;
  in_use_.store(static_cast<std::uint8_t>(1 - index), std::memory_order_relaxed);
  return units_of(last);
}

}  // namespace sluice

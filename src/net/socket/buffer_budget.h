#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

namespace sluice::net {

// Bounds the memory that all loops together keep for callers: partial requests, unread answers, commands
// after MULTI, pending checks. Thread-safe.
//
// Beyond the bound, the largest holders are shed. A loop sees only its own connections. But if all loops
// together hold too much, at least one of them holds its share or more, and sheds its largest holders.
// Strangers (peers that need a token and have not shown one) share a quarter: they cannot take the rest from
// recognised peers. TLS has a quarter, too: handshakes, and what the TLS of strangers holds after theirs.
// Where no token is needed, what the TLS of open connections holds has half, unless a certificate says who
// the peer is: the number of connections alone would allow for hundreds of MiB. Since every connection holds
// about the same for its TLS, not the largest ones are shed, but the least valuable.
class BufferBudget {
 public:
  enum class Pool : std::uint8_t { kAll, kStrangers, kTls, kOpenTls };
  static constexpr std::size_t kPools = 4;

  // REQUIRES: loops ≥ 1
  BufferBudget(std::size_t bytes_max, std::size_t loops)
      : bytes_max_{static_cast<std::int64_t>(bytes_max), static_cast<std::int64_t>(bytes_max / 4),
                   static_cast<std::int64_t>(bytes_max / 4), static_cast<std::int64_t>(bytes_max / 2)},
        loops_(static_cast<std::int64_t>(loops)) {}

  std::size_t bytes(Pool pool) const {
    return static_cast<std::size_t>(held_[index(pool)].load(std::memory_order_relaxed));
  }
  std::size_t bytes_max(Pool pool) const { return static_cast<std::size_t>(bytes_max_[index(pool)]); }
  bool is_over() const {
    return is_over(Pool::kAll) || is_over(Pool::kStrangers) || is_over(Pool::kTls) || is_over(Pool::kOpenTls);
  }

 private:
  friend class BufferAccount;
  static std::size_t index(Pool pool) { return static_cast<std::size_t>(pool); }
  bool is_over(Pool pool) const {
    return held_[index(pool)].load(std::memory_order_relaxed) > bytes_max_[index(pool)];
  }

  std::array<std::atomic<std::int64_t>, kPools> held_{};
  const std::array<std::int64_t, kPools> bytes_max_;
  const std::int64_t loops_;
};

// One loop's part of the budget. Not thread-safe.
class BufferAccount {
 public:
  using Pool = BufferBudget::Pool;

  explicit BufferAccount(BufferBudget& budget) : budget_(budget) {}

  // Adds to what is held; negative: subtracts.
  void change(std::int64_t bytes, bool is_stranger) {
    change(Pool::kAll, bytes);
    if (is_stranger) change(Pool::kStrangers, bytes);
  }
  // pool: kTls or kOpenTls.
  void change_tls(std::int64_t bytes, Pool pool) {
    change(Pool::kAll, bytes);
    change(pool, bytes);
  }
  std::int64_t bytes() const { return own_[BufferBudget::index(Pool::kAll)]; }
  bool is_over() const { return budget_.is_over(); }

  // All loops together hold too much, and this one holds more than its share. Once that is so, another eighth
  // is shed, so that the next byte does not exceed the bound again.
  bool must_shed(Pool pool) const {
    return budget_.is_over(pool) &&
           own(pool) * budget_.loops_ >= budget_.bytes_max_[BufferBudget::index(pool)];
  }
  bool has_shed_enough(Pool pool) const {
    const std::int64_t enough = budget_.bytes_max_[BufferBudget::index(pool)] / 8 * 7;
    return budget_.held_[BufferBudget::index(pool)].load(std::memory_order_relaxed) <= enough ||
           own(pool) * budget_.loops_ < enough;
  }

 private:
  std::int64_t own(Pool pool) const { return own_[BufferBudget::index(pool)]; }
  void change(Pool pool, std::int64_t bytes) {
    own_[BufferBudget::index(pool)] += bytes;
    budget_.held_[BufferBudget::index(pool)].fetch_add(bytes, std::memory_order_relaxed);
  }

  BufferBudget& budget_;
  std::array<std::int64_t, BufferBudget::kPools> own_{};
};

}  // namespace sluice::net

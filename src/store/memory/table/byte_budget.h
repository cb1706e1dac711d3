#pragma once

#include <atomic>
#include <cstdint>

namespace sluice {

// Counts bytes in use against a maximum. Thread-safe.
class ByteBudget {
 public:
  explicit ByteBudget(std::uint64_t bytes_max) : bytes_max_(bytes_max) {}

  // False if they do not fit; then nothing is taken.
  bool try_take(std::uint64_t bytes) {
    std::uint64_t used = used_.load(std::memory_order_relaxed);
    do {
      if (bytes > bytes_max_ || used > bytes_max_ - bytes) return false;
    } while (!used_.compare_exchange_weak(used, used + bytes, std::memory_order_relaxed));
    return true;
  }
  // For memory that is in use already: counts it although it may exceed the maximum.
  void take(std::uint64_t bytes) { used_.fetch_add(bytes, std::memory_order_relaxed); }
  void give_back(std::uint64_t bytes) { used_.fetch_sub(bytes, std::memory_order_relaxed); }

  // Whether try_take() would have succeeded a moment ago.
  bool has_room(std::uint64_t bytes) const { return bytes <= bytes_max_ && used() <= bytes_max_ - bytes; }
  std::uint64_t used() const { return used_.load(std::memory_order_relaxed); }
  std::uint64_t max() const { return bytes_max_; }

 private:
  const std::uint64_t bytes_max_;
  std::atomic<std::uint64_t> used_ = 0;
};

}  // namespace sluice

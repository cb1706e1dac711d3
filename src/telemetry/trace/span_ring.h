#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "telemetry/trace/span.h"

namespace sluice {

// Spans on their way from one loop thread to the exporter. One thread writes, one other reads; nobody waits,
// and nothing is locked. If it is full, the new span is dropped and counted: a collector that is gone costs
// memory once, and no check.
class SpanRing {
 public:
  explicit SpanRing(std::size_t size) : spans_(size) {}

  // The place of the next span, to be filled before commit(); null: it was dropped. For the writer.
  Span* begin_span() {
    const std::size_t written = written_.load(std::memory_order_relaxed);
    if (written - read_.load(std::memory_order_acquire) == spans_.size()) {
      add_one(dropped_);
      return nullptr;
    }
    return &spans_[written % spans_.size()];
  }
  // REQUIRES: begin_span() has given a place.
  void commit() { written_.store(written_.load(std::memory_order_relaxed) + 1, std::memory_order_release); }
  // A span that was not begun, because there were too many lately. For the writer.
  void count_held_back() { add_one(held_back_); }

  // Hands at most so many spans to `take`, oldest first. Returns how many. For the reader.
  template <class Take>
  std::size_t read(std::size_t at_most, Take&& take) {
    const std::size_t written = written_.load(std::memory_order_acquire);
    std::size_t at = read_.load(std::memory_order_relaxed), taken = 0;
    for (; at != written && taken < at_most; ++at, ++taken) take(spans_[at % spans_.size()]);
    read_.store(at, std::memory_order_release);
    return taken;
  }

  // Any thread.
  std::size_t waiting() const {
    return written_.load(std::memory_order_relaxed) - read_.load(std::memory_order_relaxed);
  }
  std::uint64_t dropped() const { return dropped_.load(std::memory_order_relaxed); }
  std::uint64_t held_back() const { return held_back_.load(std::memory_order_relaxed); }

 private:
  // Only one thread writes, so a load and a store are enough.
  static void add_one(std::atomic<std::uint64_t>& count) {
    count.store(count.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
  }

  std::vector<Span> spans_;
  alignas(64) std::atomic<std::size_t> written_ = 0;  // ever
  std::atomic<std::uint64_t> dropped_ = 0, held_back_ = 0;
  alignas(64) std::atomic<std::size_t> read_ = 0;  // ever
};

}  // namespace sluice

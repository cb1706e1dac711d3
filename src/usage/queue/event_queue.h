#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>

#include "base/limits.h"
#include "policy/dimension.h"
#include "usage/usage_event.h"

namespace sluice::usage {

// An event as it is in the queue. The views are valid until the queue is released.
struct QueuedEvent {
  UsageEvent event;
  std::uint64_t number = 0;  // of all events that the queue was given, dropped ones included; from 0
  std::array<Dimension, kDimensionsMax> dimensions;
};

// Carries events from one thread to another: a ring of bytes, of fixed size. One thread calls push(), another
// one pop() and release(); dropped() is thread-safe. Nobody waits, locks or allocates.
//
//   if (!queue.push(event)) …                      // full: dropped, and counted
//
//   while (queue.pop(queued)) write(queued);       // on the other thread
//   queue.release();                               // makes room for what comes
//
// If the ring is full, the new event is dropped, because the oldest may just be being read. It is full only
// if the other thread got no processor for as long as this one takes to fill it.
class EventQueue {
 public:
  // REQUIRES: `bytes` is a power of two, and at least 64 KiB
  explicit EventQueue(std::size_t bytes);

  bool push(const UsageEvent& event);

  // The oldest event that was not popped yet. False: there is none.
  bool pop(QueuedEvent& out);
  // Frees the room of all events that were popped.
  void release() { freed_.store(read_, std::memory_order_release); }

  std::uint64_t dropped() const { return dropped_.load(std::memory_order_relaxed); }

 private:
  struct Head;

  char* reserve(std::size_t bytes);

  const std::size_t mask_;
  const std::unique_ptr<char[]> ring_;

  // Positions count bytes since the beginning, and never wrap. Each thread's are on a cache line of their
  // own.
  alignas(64) std::uint64_t write_ = 0;  // the writer's
  std::uint64_t known_freed_ = 0;        // what it last saw of freed_
  std::uint64_t next_number_ = 0;
  std::atomic<std::uint64_t> written_ = 0;
  std::atomic<std::uint64_t> dropped_ = 0;

  alignas(64) std::uint64_t read_ = 0;  // the reader's
  std::atomic<std::uint64_t> freed_ = 0;
};

}  // namespace sluice::usage

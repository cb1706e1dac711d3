#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

#include "engine/engine.h"

namespace sluice::library {

// Engines for any number of threads over a store that all of them share. Thread-safe.
//
//   EnginePool::Use engine(pool);
//   const auto decision = engine->check(request);   // valid as long as `engine`
//
// A thread takes the engine of the processor that it runs on; if that is taken, because the system has
// interrupted the thread that uses it, the next one that is free. So there are about as many engines as
// processors, threads do not wait for each other, and an engine's memory stays in one processor's cache. Only
// a thread that finds kEnginesMax engines taken waits.
class EnginePool {
 public:
  static constexpr std::size_t kEnginesMax = 1024;

  // REQUIRES: the parts outlive it; the store answers at once and is thread-safe.
  explicit EnginePool(const Engine::Parts& parts) : parts_(parts) {}
  ~EnginePool();
  EnginePool(const EnginePool&) = delete;
  EnginePool& operator=(const EnginePool&) = delete;

  // How many engines were made.
  std::size_t size() const;

 private:
  struct Place;

 public:
  // An engine that belongs to this thread as long as the Use exists.
  class Use {
   public:
    explicit Use(EnginePool& pool) : place_(pool.take()) {}
    ~Use() { release(place_); }
    Use(const Use&) = delete;
    Use& operator=(const Use&) = delete;
    Engine* operator->() const;

   private:
    Place& place_;
  };

 private:
  Place& take();
  Place* take_at(std::size_t index);
  static void release(Place& place);

  const Engine::Parts parts_;
  std::array<std::atomic<Place*>, kEnginesMax> places_{};  // null: not made yet
};

}  // namespace sluice::library

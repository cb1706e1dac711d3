#include "library/memory/engine_pool.h"

#include <sched.h>

#include <memory>
#include <thread>

namespace sluice::library {
namespace {

// A tending looks at 2,048 counters: that is four for each check, which is more than most checks add.
constexpr std::uint32_t kChecksPerTending = 512;

}  // namespace

// An engine, on cache lines of its own.
struct alignas(64) EnginePool::Place {
  explicit Place(const Engine::Parts& parts) : engine(parts) {}

  std::atomic<bool> is_taken = true;  // by the thread that makes it
  std::uint32_t until_tended = kChecksPerTending;
  Engine engine;
};

EnginePool::~EnginePool() {
  for (const std::atomic<Place*>& place : places_) delete place.load(std::memory_order_acquire);
}

std::size_t EnginePool::size() const {
  std::size_t made = 0;
  for (const std::atomic<Place*>& place : places_) made += place.load(std::memory_order_acquire) != nullptr;
  return made;
}

EnginePool::Place& EnginePool::take() {
  for (;; std::this_thread::yield()) {
    const int processor = sched_getcpu();
    const std::size_t first = processor < 0 ? 0 : static_cast<std::size_t>(processor);
    for (std::size_t i = 0; i < kEnginesMax; ++i)
      if (Place* const place = take_at((first + i) % kEnginesMax)) [[likely]] {
        // There is no thread that removes counters which decide like fresh ones; the checks do it.
        if (place->until_tended-- == 0) {
          parts_.store.tick(0);
          place->until_tended = kChecksPerTending;
        }
        return *place;
      }
  }
}

// The engine at that place, made if there is none; null if another thread has it.
EnginePool::Place* EnginePool::take_at(std::size_t index) {
  Place* place = places_[index].load(std::memory_order_acquire);
  if (place) [[likely]] {
    const bool is_mine = !place->is_taken.load(std::memory_order_relaxed) &&
                         !place->is_taken.exchange(true, std::memory_order_acquire);
    return is_mine ? place : nullptr;
  }
  auto fresh = std::make_unique<Place>(parts_);
  return places_[index].compare_exchange_strong(place, fresh.get(), std::memory_order_acq_rel)
             ? fresh.release()
             : nullptr;
}

void EnginePool::release(Place& place) { place.is_taken.store(false, std::memory_order_release); }

Engine* EnginePool::Use::operator->() const { return &place_.engine; }

}  // namespace sluice::library

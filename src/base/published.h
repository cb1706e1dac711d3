#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <utility>

#include "base/mutex.h"

namespace sluice {

// A value that is replaced as a whole, seldom, and read all the time. Thread-safe.
//
//   Published<Tokens> tokens(std::make_shared<const Tokens>());
//   tokens.publish(std::make_shared<const Tokens>(…));   // by whoever changes it
//
//   PublishedReader<Tokens> reader(tokens);              // one for each thread that reads
//   reader.get().find(name);                             // one atomic load while nothing has changed
//
// A value that was replaced lives until its last reader has taken the new one. A thread that stops reading
// keeps its last value: give such a thread no reader, let it call current().
template <class T>
class Published {
 public:
  explicit Published(std::shared_ptr<const T> first) : current_(std::move(first)) {}
  Published(const Published&) = delete;
  Published& operator=(const Published&) = delete;

  // Grows with every publish(). A reader whose value has this number has the newest.
  std::uint64_t generation() const { return generation_.load(std::memory_order_acquire); }

  std::shared_ptr<const T> current() const {
    const Lock lock(mutex_);
    return current_;
  }

  void publish(std::shared_ptr<const T> next) {
    {
      const Lock lock(mutex_);
      current_.swap(next);
      generation_.fetch_add(1, std::memory_order_release);
    }
    // `next` now holds the former value: it is destroyed here, outside of the lock, unless a reader has it.
  }

 private:
  mutable Mutex mutex_;
  std::shared_ptr<const T> current_ SLUICE_GUARDED_BY(mutex_);
  std::atomic<std::uint64_t> generation_{0};
};

// A thread's own pointer to the newest value. Belongs to one thread. REQUIRES: the Published outlives it.
template <class T>
class PublishedReader {
 public:
  explicit PublishedReader(const Published<T>& source) : source_(source) { take(); }

  // Good until the next get().
  const T& get() {
    if (source_.generation() != generation_) [[unlikely]]
      take();
    return *value_;
  }

 private:
  // The number first: a value that is published in between has a later one, and is taken by the next get().
  void take() {
    generation_ = source_.generation();
    value_ = source_.current();
  }

  const Published<T>& source_;
  std::uint64_t generation_ = 0;
  std::shared_ptr<const T> value_;
};

}  // namespace sluice

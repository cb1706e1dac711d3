#pragma once

#include <cassert>
#include <cstdint>
#include <deque>
#include <utility>
#include <vector>

#include "base/limits.h"
#include "net/reply.h"

namespace sluice::net {

// Whoever waits for a deferred answer, or only for a deadline. At most one of its functions is called, once,
// on the loop's thread; by then the entry is closed.
class DeadlineWaiter {
 public:
  virtual void expire() {}  // the deadline has passed; never called without one

 protected:
  ~DeadlineWaiter() = default;
};
template <class Response>
class Waiter : public DeadlineWaiter {
 public:
  virtual void finish(Response&& response) = 0;

 protected:
  ~Waiter() = default;
};

// The answers that applications have deferred, for all connections of one loop. Not thread-safe.
//
// An application keeps a small handle: an entry and the entry's generation. When the client disconnects, the
// generation advances, and the handle has no effect any more. Entries are reused: no allocation once warm.
// They are never freed, because a handle may still point at them; so there are at most kDeferredAnswersMax.
class DeferredAnswers {
 public:
  struct Entry {
    std::uint64_t generation = 0;
    DeadlineWaiter* waiter = nullptr;
    std::int64_t deadline_us = 0;  // 0: none
    DeferredAnswers* table = nullptr;
  };

  // open() and defer() REQUIRE: !full(). Ask before the request is handled, and refuse it if full.
  bool full() const { return open_count_ >= kDeferredAnswersMax; }
  Entry* open(DeadlineWaiter& waiter, std::int64_t deadline_us);
  // Cancels: the waiter does not wait any more.
  void close(Entry* entry);

  // Opens `entry` for the waiter, and returns the handle that answers it.
  template <class Response>
  typename Reply<Response>::Later defer(Waiter<Response>& waiter, Entry*& entry,
                                        std::int64_t deadline_us = 0) {
    entry = open(waiter, deadline_us);
    // Two words, which fit into std::function without an allocation.
    return [held = entry, generation = entry->generation](Response&& response) {
      if (DeadlineWaiter* const found = take(held, generation))
        static_cast<Waiter<Response>*>(found)->finish(std::move(response));
    };
  }

  void expire_until(std::int64_t now_us);
  std::size_t open_count() const { return open_count_; }

 private:
  // Closes the entry and returns its waiter; null if that does not wait any more.
  static DeadlineWaiter* take(Entry* entry, std::uint64_t generation);

  std::deque<Entry> entries_;
  std::vector<Entry*> free_;
  std::size_t open_count_ = 0;
};

// The reply to a request that a session handles: `entry` is set if the answer is postponed. What it refers to
// belongs to the session and outlives it. Belongs to the loop's thread.
template <class Response>
class SessionReply final : public Reply<Response> {
 public:
  SessionReply(Response& answer, DeferredAnswers& deferred, Waiter<Response>& waiter,
               DeferredAnswers::Entry*& entry, std::int64_t deadline_us = 0)
      : Reply<Response>(answer),
        deferred_(deferred),
        waiter_(waiter),
        entry_(entry),
        deadline_us_(deadline_us) {}

  typename Reply<Response>::Later later() override {
    assert(!entry_);
    return deferred_.defer(waiter_, entry_, deadline_us_);
  }

 private:
  DeferredAnswers& deferred_;
  Waiter<Response>& waiter_;
  DeferredAnswers::Entry*& entry_;
  const std::int64_t deadline_us_;
};

}  // namespace sluice::net

#pragma once

#include <cstdint>
#include <deque>
#include <vector>

#include "base/limits.h"
#include "net/http/http_api.h"

namespace sluice::net {

// The answers that applications have deferred, for all connections of one loop. Not thread-safe.
//
// An application keeps a small handle: a slot and the slot's generation. When the client disconnects, the
// generation advances, and the handle has no effect any more. Slots are reused: no allocation once warm. They
// are never freed, because a handle may still point at them; so there are at most kDeferredAnswersMax.
class DeferredAnswers {
 public:
  // Waits for an answer. Exactly one of the functions is called, once; by then the slot is closed.
  class Waiter {
   public:
    virtual void finish_http(HttpResponse&& response) = 0;
    virtual void finish_grpc(const GrpcStatus& status, std::string_view message) = 0;
    virtual void finish_redis(std::string_view /*reply*/) {}
    virtual void expire() = 0;  // the deadline has passed

   protected:
    ~Waiter() = default;
  };

  struct Slot {
    std::uint64_t generation = 0;
    Waiter* waiter = nullptr;
    std::int64_t deadline_us = 0;  // 0: none
    DeferredAnswers* table = nullptr;
  };

  // open() REQUIRES: !full(). Ask before the request is handled, and refuse it if full.
  bool full() const { return open_count_ >= kDeferredAnswersMax; }
  Slot* open(Waiter& waiter, std::int64_t deadline_us);
  // Cancels: the waiter does not wait any more.
  void close(Slot* slot);

  static Application::HttpLater http_later(Slot* slot);
  static Application::GrpcLater grpc_later(Slot* slot);
  static RedisHandler::Later redis_later(Slot* slot);

  void expire_until(std::int64_t now_us);
  std::size_t open_count() const { return open_count_; }

 private:
  static Waiter* take(Slot* slot, std::uint64_t generation);

  std::deque<Slot> slots_;
  std::vector<Slot*> free_;
  std::size_t open_count_ = 0;
};

}  // namespace sluice::net

#pragma once

#include <cstdint>
#include <functional>
#include <span>

#include "store/store.h"

namespace sluice {

// Stands in for a store while it is not known which store has a tenant's counters. Answers at once, and
// charges nothing. Not thread-safe.
class RefusingStore final : public Store {
 public:
  enum class Answer : std::uint8_t {
    kMoving,  // denied, whatever on_failure says: the counters exist somewhere, and may be used up
    kSilent,  // like a store that does not answer: on_failure decides
  };
  explicit RefusingStore(Answer answer) : answer_(answer) {}

  bool start(StoreCall& call) override {
    call.forget_answer();
    call.moving = answer_ == Answer::kMoving;
    return true;
  }
  bool answers_at_once() const override { return true; }
  void reset(std::span<const CounterName>, std::function<void(int)> done) override { done(-1); }
  void tick(std::int64_t) override {}
  std::int64_t next_due_us() const override { return INT64_MAX; }
  Health health() const override { return {.connected = true, .problems = {}}; }

 private:
  const Answer answer_;
};

}  // namespace sluice

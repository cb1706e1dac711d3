#pragma once

#include <functional>
#include <utility>
#include <vector>

#include "store/async_store.h"

namespace sluice {

// A call that remembers how it ended. Stays where it is until then.
class TestCall final : public StoreCall {
 public:
  explicit TestCall(std::vector<Charge> wanted, std::int64_t deadline = 0)
      : wanted_(std::move(wanted)), given_(wanted_.size()) {
    charges = wanted_;
    results = given_;
    deadline_us = deadline;
  }
  TestCall(const TestCall&) = delete;
  TestCall& operator=(const TestCall&) = delete;

  void on_done() override {
    ++times_done;
    if (when_done) when_done();
  }
  bool allowed() const { return verdict == Verdict::kAllowed; }
  std::int64_t remaining(std::size_t i = 0) const { return given_[i].outcome.remaining; }

  int times_done = 0;
  std::function<void()> when_done;

 private:
  std::vector<Charge> wanted_;
  std::vector<ChargeResult> given_;
};

}  // namespace sluice

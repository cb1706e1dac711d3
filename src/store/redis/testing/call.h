#pragma once

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "store/store.h"

namespace sluice {

// A call that records its end. Must not be moved until then.
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

// For messages, and to compare.
inline std::string shown(const ChargeResult& result) {
  const Outcome& o = result.outcome;
  return std::string(o.allowed ? "allowed" : "denied") + " remaining " + std::to_string(o.remaining) +
         " retry " + std::to_string(o.retry_after_us) + " reset " + std::to_string(o.reset_after_us) +
         " pressure " + std::to_string(static_cast<int>(result.pressure)) + " denied cost " +
         std::to_string(result.denied_cost);
}

}  // namespace sluice

#pragma once

#include <deque>
#include <functional>
#include <span>
#include <utility>
#include <vector>

#include "store/memory/memory_store.h"

namespace sluice::testing {

// A store that answers when the test says so. Decides like the memory store.
class LateStore final : public Store {
 public:
  explicit LateStore(MemoryStore& store) : store_(store) {}

  bool start(StoreCall& call) override {
    call.forget_answer();
    if (broken) return true;
    if (waiting.size() >= room) {
      ++shed;
      call.verdict = Verdict::kShed;
      return true;
    }
    waiting.push_back(&call);
    return false;
  }
  void reset(std::span<const CounterName> counters, std::function<void(int)> done) override {
    names.assign(counters.begin(), counters.end());
    resets.push_back(std::move(done));
  }
  void tick(std::int64_t) override {}
  std::int64_t next_due_us() const override { return INT64_MAX; }
  Health health() const override { return {}; }

  void answer_all() {
    while (!waiting.empty()) {
      StoreCall* call = waiting.front();
      waiting.pop_front();
      store_.start(*call);
      call->on_done();
    }
  }
  void fail_all() { end_all(Verdict::kNoAnswer); }
  void shed_all() { end_all(Verdict::kShed); }
  void refuse_all() { end_all(Verdict::kNoRoom); }
  void answer_resets(int existed) {
    for (const auto& done : std::exchange(resets, {})) done(existed);
  }

  std::deque<StoreCall*> waiting;
  std::vector<CounterName> names;
  std::vector<std::function<void(int)>> resets;  // waiting for an answer
  bool broken = false;
  std::size_t room = SIZE_MAX;  // for this many calls; the others are shed
  int shed = 0;                 // how many

 private:
  void end_all(Verdict verdict) {
    while (!waiting.empty()) {
      StoreCall* call = waiting.front();
      waiting.pop_front();
      call->verdict = verdict;
      call->on_done();
    }
  }

  MemoryStore& store_;
};

}  // namespace sluice::testing

#pragma once

#include <deque>
#include <functional>
#include <span>
#include <utility>
#include <vector>

#include "store/local_store.h"

namespace sluice::testing {

// A store whose answers come when the test says so. Decides as the memory store does.
class LateStore final : public AsyncStore {
 public:
  explicit LateStore(LocalStore& store) : store_(store) {}

  bool start(StoreCall& call) override {
    if (broken) {
      call.verdict = Verdict::kNoAnswer;
      return true;
    }
    waiting.push_back(&call);
    return false;
  }
  void reset(std::span<const CounterName> counters, std::function<void(int)> done) override {
    names.assign(counters.begin(), counters.end());
    reset_done = std::move(done);
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
  void fail_all() {
    while (!waiting.empty()) {
      StoreCall* call = waiting.front();
      waiting.pop_front();
      call->verdict = Verdict::kNoAnswer;
      call->on_done();
    }
  }

  std::deque<StoreCall*> waiting;
  std::vector<CounterName> names;
  std::function<void(int)> reset_done;
  bool broken = false;

 private:
  LocalStore& store_;
};

}  // namespace sluice::testing

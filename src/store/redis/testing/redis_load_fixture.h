#pragma once

#include <memory>
#include <vector>

#include "base/limits.h"
#include "store/redis/testing/redis_store_fixture.h"

namespace sluice {

// A steady stream of checks on one counter that never refills, each with its own deadline, and their
// outcomes.
class RedisLoadFixture : public RedisStoreFixture {
 protected:
  static constexpr std::int64_t kLimit = kRateMax;  // no test can use it up

  Charge charge() { return {key("counted"), limit(Algorithm::kFixedWindow, kLimit, 366 * 86'400 * kSecond)}; }

  // Starts one more call.
  void ask(std::int64_t patience_us) {
    auto call = std::make_unique<TestCall>(std::vector{charge()}, in_us(patience_us));
    if (with_request_ids_) call->dedupe = Dedupe{{7, ++last_id_}, 1, 600 * kSecond};
    if (store_->start(*call)) {
      note(*call);
    } else {
      calls_.push_back(std::move(call));
    }
  }
  void sweep() {
    std::erase_if(calls_, [&](const auto& call) {
      EXPECT_LE(call->times_done, 1);
      if (call->times_done == 0) {
        EXPECT_LT(clock_.now_us(), call->deadline_us + kSecond) << "somebody waits long after the deadline";
        return false;
      }
      note(*call);
      return true;
    });
  }
  void note(const TestCall& call) { ++(call.allowed() ? allowed_ : unanswered_); }

  void load_for(std::int64_t us, std::int64_t patience_us = 100'000) {
    const std::int64_t end_us = clock_.now_us() + us;
    while (clock_.now_us() < end_us) {
      for (int i = 0; i < 20; ++i) ask(patience_us);
      run_once();
      sweep();
    }
  }
  bool load_until_allowed(std::int64_t at_most_us) {
    const std::int64_t before = allowed_, end_us = clock_.now_us() + at_most_us;
    while (allowed_ == before && clock_.now_us() < end_us) load_for(10'000);
    return allowed_ > before;
  }
  void settle() {
    EXPECT_TRUE(run_until([&] {
      sweep();
      return calls_.empty();
    }));
  }
  std::int64_t charged() {
    const auto look = [&] {
      TestCall call({{charge().key, charge().params, 0}});
      return finish(call).allowed() ? kLimit - call.remaining() : -1;
    };
    std::int64_t units = look();
    while (units < 0 && !HasFailure()) {  // the connection may just have been lost
      run_once();
      units = look();
    }
    return units;
  }

  std::vector<std::unique_ptr<TestCall>> calls_;
  std::int64_t allowed_ = 0, unanswered_ = 0;
  bool with_request_ids_ = false;
  std::uint64_t last_id_ = 0;
};

}  // namespace sluice

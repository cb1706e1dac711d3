#include <sluice/limiter.h>

#include <algorithm>
#include <atomic>
#include <thread>
#include <utility>

#include "base/steady_now.h"

namespace sluice {
namespace {

constexpr std::chrono::milliseconds kNapMin{1};  // a back end that says "now" must not make wait() spin

}  // namespace

Limiter::~Limiter() = default;

bool Limiter::sleep_until(std::chrono::steady_clock::time_point time) {
  std::this_thread::sleep_until(time);
  return true;
}

Answer Limiter::wait(const Request& request, std::chrono::steady_clock::time_point deadline) {
  for (;;) {
    Answer answer = check(request);
    if (answer.allowed || answer.trouble != Trouble::kNone || answer.retry_after.count() < 0) return answer;
    const auto again = steady_now() + std::max(answer.retry_after, kNapMin);
    if (again > deadline) return answer;
    if (!sleep_until(again)) return check(request);  // closed meanwhile
  }
}

// The answer, and the coroutine that waits for it. Two sides meet here, and the second one goes on: either
// the coroutine finds the answer, or the answer finds the coroutine.
struct Limiter::CheckLater::State {
  Answer answer;
  // Null: neither is there. Its own address: the answer is there. Else the coroutine.
  std::atomic<void*> met = nullptr;

  void take(const Answer& found) {
    answer = found;
    if (void* const waiting = met.exchange(this, std::memory_order_acq_rel))
      std::coroutine_handle<>::from_address(waiting).resume();
  }
};

Limiter::CheckLater::CheckLater(std::shared_ptr<State> state) : state_(std::move(state)) {}
Limiter::CheckLater::~CheckLater() = default;

bool Limiter::CheckLater::await_ready() const noexcept {
  return state_->met.load(std::memory_order_acquire) != nullptr;
}

bool Limiter::CheckLater::await_suspend(std::coroutine_handle<> waiting) noexcept {
  void* nobody = nullptr;
  return state_->met.compare_exchange_strong(nobody, waiting.address(), std::memory_order_acq_rel);
}

Answer Limiter::CheckLater::await_resume() { return std::move(state_->answer); }

Limiter::CheckLater Limiter::check_later(const Request& request) {
  auto state = std::make_shared<CheckLater::State>();
  check_async(request, [state](const Answer& answer) { state->take(answer); });
  return CheckLater(std::move(state));
}

}  // namespace sluice

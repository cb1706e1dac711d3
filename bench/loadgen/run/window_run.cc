#include "loadgen/run/window_run.h"

#include <algorithm>
#include <atomic>
#include <csignal>
#include <thread>

#include "loadgen/measure/process_cpu.h"

namespace sluice::loadgen {
namespace {

constexpr std::int64_t kLookEveryUs = 20'000;  // to see whether all threads finished before the end

// Blocks SIGINT and SIGTERM during its lifetime, and accepts them while it waits: no handler, no global.
// Construct it before other threads start, so that they block them, too.
class InterruptibleWait {
 public:
  explicit InterruptibleWait(const Clock& clock) : clock_(clock) {
    sigemptyset(&signals_);
    sigaddset(&signals_, SIGINT);
    sigaddset(&signals_, SIGTERM);
    pthread_sigmask(SIG_BLOCK, &signals_, &before_);
  }
  ~InterruptibleWait() { pthread_sigmask(SIG_SETMASK, &before_, nullptr); }
  InterruptibleWait(const InterruptibleWait&) = delete;
  InterruptibleWait& operator=(const InterruptibleWait&) = delete;

  // Waits until that time. False: a signal arrived, now or earlier.
  bool until(std::int64_t time_us) {
    while (!interrupted_) {
      const std::int64_t left_us = time_us - clock_.now_us();
      if (left_us <= 0) return true;
      const timespec left{left_us / 1'000'000, left_us % 1'000'000 * 1000};
      interrupted_ = sigtimedwait(&signals_, nullptr, &left) > 0;
    }
    return false;
  }

 private:
  const Clock& clock_;
  sigset_t signals_;
  sigset_t before_;
  bool interrupted_ = false;
};

// False: a signal arrived first.
bool wait_for_end(const Window& window, const Clock& clock, InterruptibleWait& wait) {
  while (clock.now_us() < window.end_us)
    if (!wait.until(std::min(window.end_us.load(), clock.now_us() + kLookEveryUs))) return false;
  return true;
}

}  // namespace

void open_window(Window& window, const BenchOptions& options, const Clock& clock) {
  window.start_us = clock.now_us() + options.warmup_us;
  window.end_us = window.start_us + options.duration_us;
}

Measurement run_through_window(Window& window, const BenchOptions& options, const Clock& clock,
                               const std::vector<std::function<void()>>& threads) {
  InterruptibleWait wait(clock);
  Measurement measured;
  {
    std::atomic<std::size_t> left = threads.size();
    std::vector<std::jthread> running;
    for (const auto& thread : threads)
      running.emplace_back([&thread, &left, &window, &clock] {
        thread();
        if (--left == 0) window.end_us = std::min(window.end_us.load(), clock.now_us());
      });
    wait.until(window.start_us);
    const auto server_before = process_cpu_us(options.server_pid);
    const std::int64_t client_before = own_cpu_us();
    measured.interrupted = !wait_for_end(window, clock, wait);
    const auto server_after = process_cpu_us(options.server_pid);
    measured.client_cpu_us = own_cpu_us() - client_before;
    if (measured.interrupted) window.end_us = std::min(window.end_us.load(), clock.now_us());
    if (options.server_pid != 0 && server_before && server_after)
      measured.server_cpu_us = *server_after - *server_before;
  }
  measured.elapsed_us = std::max<std::int64_t>(window.end_us - window.start_us, 0);
  return measured;
}

}  // namespace sluice::loadgen

// A worker with many threads that share one pace: together they start at most 200 jobs a second (after a
// burst of 10), however many threads there are. wait() sleeps until there is room; close() wakes all threads
// to stop. Around the limiter are decorators: one counts what happens, one logs trouble.
#include <sluice/decorators/logging.h>
#include <sluice/decorators/metrics.h>
#include <sluice/open.h>

#include <atomic>
#include <iostream>
#include <thread>
#include <vector>

int main() {
  auto opened = sluice::open_memory({.policies = {.file = "policies.yaml"}});
  if (!opened) {
    std::cerr << opened.error << '\n';
    return 1;
  }
  const auto print = [](std::string_view line) { std::cerr << line << '\n'; };
  auto logged = std::make_unique<sluice::LoggingLimiter>(std::move(opened.limiter), print);
  sluice::MetricsLimiter limiter(std::move(logged));

  constexpr int kJobs = 40;
  std::atomic<int> done = 0, stopped = 0;
  std::vector<std::thread> threads;
  for (int i = 0; i < 8; ++i)
    threads.emplace_back([&] {
      const auto deadline = std::chrono::steady_clock::now() + std::chrono::hours(1);
      while (limiter.wait({.key = "all", .resource = "/jobs"}, deadline).allowed)
        if (++done == kJobs) limiter.close();
      ++stopped;
    });
  for (std::thread& thread : threads) thread.join();
  std::cout << "jobs: " << (done >= kJobs ? "all" : "too few") << ", threads stopped: " << stopped << '\n'
            << limiter.text();
}

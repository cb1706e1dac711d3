#include "loadgen/direct_run.h"

#include <memory>
#include <vector>

#include "engine/limiter.h"
#include "loadgen/bench_clock.h"
#include "loadgen/direct_engine.h"
#include "loadgen/window_run.h"
#include "store/local_store.h"
#include "store/memory_store.h"

namespace sluice::loadgen {
namespace {

// What all threads share.
struct Engine : DirectEngine {
  using DirectEngine::DirectEngine;
  MemoryStore counters{clock, params};
  LocalStore store{counters, clock};
};

// One thread's checks.
class Asker {
 public:
  Asker(Engine& engine, const BenchOptions& options, std::uint32_t thread)
      : engine_(engine),
        limiter_({engine.store, engine.board, engine.hasher, engine.clock, engine.totals}),
        checks_(options, thread) {}

  void run(const Window& window) {
    while (true) {
      const std::int64_t now_us = engine_.clock.now_us();
      if (now_us >= window.end_us.load(std::memory_order_relaxed)) return;
      ask_some(now_us >= window.start_us);
      engine_.counters.tend();
    }
  }
  const Tally& tally() const { return tally_; }

 private:
  void ask_some(bool measured) {
    Tally& into = measured ? tally_ : discarded_;
    const std::int64_t before_ns = monotonic_ns();
    ask(into);
    into.latency.record(monotonic_ns() - before_ns);
    for (int i = 1; i < kSampledOneIn; ++i) ask(into);
  }

  void ask(Tally& into) {
    const auto decision = limiter_.check(checks_.next());
    if (!decision) {
      ++into.failed;
      if (into.first_failure.empty()) into.first_failure = decision.error().message;
    } else if (decision->allowed) {
      ++into.allowed;
    } else {
      ++into.denied;
    }
  }

  Engine& engine_;
  Limiter limiter_;
  CheckSource checks_;
  Tally tally_;
  Tally discarded_;  // of the warm-up
};

}  // namespace

std::expected<Measurement, std::string> run_direct(const BenchOptions& options, const Clock& clock) {
  Engine engine(clock);
  if (const auto loaded = engine.load_policies(options.policies); !loaded)
    return std::unexpected(loaded.error());

  Window window;
  open_window(window, options, clock);
  std::vector<std::unique_ptr<Asker>> askers;
  std::vector<std::function<void()>> threads;
  for (std::uint32_t i = 0; i < options.threads; ++i) {
    askers.push_back(std::make_unique<Asker>(engine, options, i));
    threads.emplace_back([asker = askers.back().get(), &window] { asker->run(window); });
  }
  Measurement measured = run_through_window(window, options, clock, threads);
  for (const auto& asker : askers) measured.tally.merge(asker->tally());
  return measured;
}

}  // namespace sluice::loadgen

#include "loadgen/run/direct_run.h"

#include <algorithm>
#include <chrono>
#include <ctime>
#include <functional>
#include <memory>
#include <thread>
#include <vector>

#include "base/try.h"
#include "engine/engine.h"
#include "loadgen/run/direct_parts.h"
#include "loadgen/run/window_run.h"
#include "store/memory/memory_counters.h"
#include "store/memory/memory_store.h"

namespace sluice::loadgen {
namespace {

// On the monotonic clock, for operations shorter than a microsecond.
std::int64_t monotonic_ns() {
  timespec t{};
  clock_gettime(CLOCK_MONOTONIC, &t);
  return std::int64_t{t.tv_sec} * 1'000'000'000 + t.tv_nsec;
}

// What all threads share.
struct SharedParts : DirectParts {
  using DirectParts::DirectParts;
  MemoryCounters counters{clock, params};
  MemoryStore store{counters, clock};
};

void count(const Result<Decision>& decision, Tally& into) {
  if (!decision) {
    ++into.failed;
    if (into.first_failure.empty()) into.first_failure = decision.error().message;
  } else if (decision->allowed) {
    ++into.allowed;
  } else {
    ++into.denied;
  }
}

constexpr std::int64_t kDirectTickUs = 10'000;  // as in a server

// The checks of one thread.
class Asker {
 public:
  Asker(SharedParts& parts, const BenchOptions& options, std::uint32_t thread)
      : parts_(parts),
        hot_(parts.hot_keys, parts.hasher, options.seed + thread, true),
        engine_({.store = parts.store,
                 .policies = parts.snapshots,
                 .hasher = parts.hasher,
                 .clock = parts.clock,
                 .totals = parts.totals,
                 .hot = &hot_}),
        checks_(options, thread) {}

  void run(const Window& window) {
    while (true) {
      const std::int64_t now_us = parts_.clock.now_us();
      if (now_us >= window.end_us.load(std::memory_order_relaxed)) return;
      ask_some(now_us >= window.start_us);
      parts_.counters.tend();
      if (now_us < next_tick_us_) continue;
      next_tick_us_ = now_us + kDirectTickUs;
      hot_.tick(now_us);
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

  void ask(Tally& into) { count(engine_.check(checks_.next()), into); }

  SharedParts& parts_;
  HotSketch hot_;
  Engine engine_;
  CheckSource checks_;
  std::int64_t next_tick_us_ = 0;
  Tally tally_;
  Tally discarded_;  // results of the warm-up
};

constexpr std::int64_t kLongestWaitUs = 20'000;  // so that an early end is noticed
constexpr std::uint32_t kChecksPerTending = 64;

// One thread's part of a replay: every n-th request of the recording.
class Replayer {
 public:
  Replayer(SharedParts& parts, const BenchOptions& options, const Recording& recording, std::uint32_t thread)
      : parts_(parts),
        engine_({parts.store, parts.snapshots, parts.hasher, parts.clock, parts.totals}),
        options_(options),
        recording_(recording),
        thread_(thread) {}

  void run(const Window& window) {
    for (std::uint64_t n = thread_; n < recording_.size(); n += options_.threads) {
      const auto i = static_cast<std::uint32_t>(n);
      if (!wait_until_due(i, window)) return;
      Recording::Room room;
      const CheckRequest request = recording_.request(i, room);
      const std::int64_t before_ns = monotonic_ns();
      const auto decision = engine_.check(request);
      tally_.latency.record(monotonic_ns() - before_ns);
      count(decision, tally_);
      if (n % kChecksPerTending == 0) parts_.counters.tend();
    }
  }
  const Tally& tally() const { return tally_; }

 private:
  // False: the window ends first.
  bool wait_until_due(std::uint32_t i, const Window& window) const {
    const double speed = options_.replay.speed;
    const std::int64_t due_us =
        speed == 0 ? 0
                   : window.start_us +
                         static_cast<std::int64_t>(static_cast<double>(recording_.after_us(i)) / speed);
    while (true) {
      const std::int64_t now_us = parts_.clock.now_us();
      if (now_us >= window.end_us.load(std::memory_order_relaxed)) return false;
      if (now_us >= due_us) return true;
      const std::int64_t wait_us = std::min(due_us - now_us, kLongestWaitUs);
      std::this_thread::sleep_for(std::chrono::microseconds(wait_us));
    }
  }

  SharedParts& parts_;
  Engine engine_;
  const BenchOptions& options_;
  const Recording& recording_;
  const std::uint32_t thread_;
  Tally tally_;
};

template <class Asking>
void take_part(Asking& asking, const Window& window, std::vector<std::function<void()>>& threads) {
  threads.emplace_back([&asking, &window] { asking.run(window); });
}

}  // namespace

std::expected<Measurement, std::string> run_direct(const BenchOptions& options, const Clock& clock,
                                                   const Recording* recording) {
  SharedParts parts(clock);
  SLUICE_TRY(parts.load_policies(options.policies));

  Window window;
  open_window(window, options, clock);
  std::vector<std::unique_ptr<Asker>> askers;
  std::vector<std::unique_ptr<Replayer>> replayers;
  std::vector<std::function<void()>> threads;
  for (std::uint32_t i = 0; i < options.threads; ++i) {
    if (recording == nullptr)
      take_part(*askers.emplace_back(std::make_unique<Asker>(parts, options, i)), window, threads);
    else
      take_part(*replayers.emplace_back(std::make_unique<Replayer>(parts, options, *recording, i)), window,
                threads);
  }
  Measurement measured = run_through_window(window, options, clock, threads);
  for (const auto& asker : askers) measured.tally.merge(asker->tally());
  for (const auto& replayer : replayers) measured.tally.merge(replayer->tally());
  return measured;
}

}  // namespace sluice::loadgen

#include "loadgen/direct_run.h"

#include <algorithm>
#include <fstream>
#include <iterator>
#include <thread>
#include <vector>

#include "engine/limiter.h"
#include "loadgen/bench_clock.h"
#include "loadgen/interruptible_wait.h"
#include "loadgen/process_cpu.h"
#include "policy/document.h"
#include "store/local_store.h"
#include "store/memory_store.h"

namespace sluice::loadgen {
namespace {

// What all threads share.
struct Engine {
  explicit Engine(const Clock& real_clock) : clock(real_clock) {}

  const Clock& clock;
  ParamsTable params;
  MemoryStore counters{clock, params};
  LocalStore store{counters, clock};
  PolicyBoard board;
  KeyHasher hasher = KeyHasher::with_random_secret();
  DecisionTotals totals;
};

std::expected<void, std::string> load_policies(const std::string& name, Engine& engine) {
  std::ifstream file(name, std::ios::binary);
  if (!file) return std::unexpected("cannot read '" + name + "'.");
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  std::vector<WrittenPolicy> written;
  Problems problems;
  parse_policies(text, name, written, problems);
  if (problems.empty()) check_together(written, problems);
  if (!problems.empty()) return std::unexpected(problems.list().front().text());
  std::vector<Policy> policies;
  for (WrittenPolicy& policy : written) policies.push_back(std::move(policy.policy));
  auto snapshot = Snapshot::compile(std::move(policies), engine.params);
  if (!snapshot) return std::unexpected(snapshot.error().message);
  engine.board.publish(*snapshot);
  return {};
}

// One thread's checks.
class Asker {
 public:
  Asker(Engine& engine, const BenchOptions& options, std::uint32_t thread)
      : engine_(engine),
        limiter_({engine.store, engine.board, engine.hasher, engine.clock, engine.totals}),
        keys_(options.keys, options.distribution, options.seed + thread),
        dimension_{options.shape.dimension, {key_, sizeof key_}} {
    request_.policy_id = options.shape.policy_id;
    request_.tenant = options.shape.tenant;
    request_.resource = options.shape.resource;
    if (options.shape.dimension == "key") {
      request_.key = dimension_.value;
    } else {
      request_.dimensions = {&dimension_, 1};
    }
  }

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
    write_key_digits(key_ + 1, keys_.next());
    const auto decision = limiter_.check(request_);
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
  KeySource keys_;
  char key_[1 + kKeyDigits] = {'k'};
  Dimension dimension_;
  CheckRequest request_;
  Tally tally_;
  Tally discarded_;  // of the warm-up
};

}  // namespace

std::expected<Measurement, std::string> run_direct(const BenchOptions& options, const Clock& clock) {
  Engine engine(clock);
  if (const auto loaded = load_policies(options.policies, engine); !loaded)
    return std::unexpected(loaded.error());

  Window window;
  window.start_us = clock.now_us() + options.warmup_us;
  window.end_us = window.start_us + options.duration_us;
  InterruptibleWait wait(clock);
  std::vector<std::unique_ptr<Asker>> askers;
  for (std::uint32_t i = 0; i < options.threads; ++i)
    askers.push_back(std::make_unique<Asker>(engine, options, i));

  Measurement measured;
  {
    std::vector<std::jthread> threads;
    for (auto& asker : askers) threads.emplace_back([&asker, &window] { asker->run(window); });
    wait.until(window.start_us);
    const std::int64_t before = own_cpu_us();
    measured.interrupted = !wait.until(window.end_us);
    measured.client_cpu_us = own_cpu_us() - before;
    if (measured.interrupted) window.end_us = clock.now_us();
  }
  measured.elapsed_us = std::max<std::int64_t>(window.end_us - window.start_us, 0);
  for (const auto& asker : askers) measured.tally.merge(asker->tally());
  return measured;
}

}  // namespace sluice::loadgen

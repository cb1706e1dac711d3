#include "loadgen/run/store_run.h"

#include <sys/timerfd.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <random>
#include <system_error>
#include <vector>

#include "base/try.h"
#include "engine/engine.h"
#include "engine/hot/hot_keys.h"
#include "engine/hot/leasing_store.h"
#include "engine/hot/sparing_store.h"
#include "loadgen/run/direct_parts.h"
#include "loadgen/run/window_run.h"
#include "loadgen/traffic/schedule.h"
#include "net/socket/event_loop.h"
#include "net/socket/tcp_transport.h"

namespace sluice::loadgen {
namespace {

constexpr std::int64_t kTickUs = 10'000;
constexpr std::int64_t kPromoteEveryUs = 250'000;
constexpr std::int64_t kConnectUsMax = 5'000'000;
constexpr std::int64_t kGraceUs = 1'000'000;  // for calls that were due and found no free slot

// Wakes an event loop at a given time, to the microsecond: the loop's own timeout is in milliseconds. Belongs
// to the loop's thread.
class DueTimer final : private net::EventLoop::Watcher {
 public:
  // REQUIRES: the loop outlives the timer.
  explicit DueTimer(net::EventLoop& loop)
      : loop_(loop), fd_(timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK | TFD_CLOEXEC)) {
    if (fd_ < 0) throw std::system_error(errno, std::generic_category(), "timerfd_create");
    loop_.add(fd_, EPOLLIN, *this);
  }
  ~DueTimer() {
    loop_.remove(fd_, *this);
    close(fd_);
  }
  DueTimer(const DueTimer&) = delete;
  DueTimer& operator=(const DueTimer&) = delete;

  // Fires once, this many microseconds from now; not positive: at once. Replaces the previous setting.
  void set(std::int64_t in_us) {
    itimerspec when{};
    when.it_value.tv_sec = in_us > 0 ? in_us / 1'000'000 : 0;
    when.it_value.tv_nsec = in_us > 0 ? in_us % 1'000'000 * 1'000 : 1;  // all zeros would disarm the timer
    timerfd_settime(fd_, 0, &when, nullptr);
  }

 private:
  // The timer has done its work by waking the loop; without this read it would keep waking it.
  void on_events(std::uint32_t) override {
    std::uint64_t times = 0;
    [[maybe_unused]] const ssize_t got = read(fd_, &times, sizeof times);
  }

  net::EventLoop& loop_;
  const int fd_;
};

// One thread: its loop, its store, its engine.
class StoreAsker {
 public:
  StoreAsker(DirectParts& parts, const BenchOptions& options, std::uint32_t thread,
             const MakeStore& make_store)
      : clock_(parts.clock),
        in_flight_max_(options.in_flight),
        hot_keys_(parts.hot_keys),
        hot_(parts.hot_keys, parts.hasher, options.seed + thread, true),
        random_(options.seed + thread),
        store_(leasing(options, parts.params, make_store(transport_, clock_, parts.params))),
        engine_({.store = *store_,
                 .policies = parts.snapshots,
                 .hasher = parts.hasher,
                 .clock = clock_,
                 .totals = parts.totals,
                 .hot = &hot_}),
        checks_(options, thread) {
    loop_.count_sleep(clock_);
  }

  std::expected<void, std::string> connect() {
    const std::int64_t give_up_us = clock_.now_us() + kConnectUsMax;
    while (true) {
      const Store::Health health = store_->health();
      if (health.connected) return {};
      if (clock_.now_us() >= give_up_us)
        return std::unexpected(health.problems.empty() ? "the store does not answer."
                                                       : health.problems.front());
      turn([](std::int64_t) {});
    }
  }

  void run(const Window& window, Schedule schedule) {
    Recorder recorder(window, schedule.open_loop());
    recorder_ = &recorder;
    const auto end_us = [&window] { return window.end_us.load(std::memory_order_relaxed); };
    while (clock_.now_us() < end_us())
      turn([&](std::int64_t now_us) { ask_due(schedule, std::min(now_us, end_us() - 1)); });
    // Calls that were due within the window are still sent, and answers awaited: the store guarantees one for
    // each.
    const std::int64_t last_us = clock_.now_us() + kGraceUs;
    const auto sends = [&] {
      return schedule.open_loop() && schedule.next_due_us() < end_us() && clock_.now_us() < last_us;
    };
    while (sends() || under_way_ > 0)
      turn([&](std::int64_t) {
        if (sends()) ask_due(schedule, end_us() - 1);
      });
    while (schedule.open_loop() && schedule.next_due_us() < end_us())
      recorder.given_up(*schedule.take(end_us()), clock_.now_us());
    tally_ = recorder.tally();
  }
  const Tally& tally() const { return tally_; }

 private:
  // One turn of the loop, as in a server: answers and new checks share a burst.
  template <class Ask>
  void turn(const Ask& ask) {
    loop_.wait(wait_ms());
    const std::int64_t now_us = clock_.now_us();
    store_->begin_burst();
    loop_.dispatch();
    ask(now_us);
    store_->end_burst();
    if (now_us < std::min(next_tick_us_, store_->next_due_us())) return;
    next_tick_us_ = now_us + kTickUs;
    store_->tick(now_us);
    hot_.tick(now_us);
    if (now_us < next_promotion_us_) return;
    next_promotion_us_ = now_us + kPromoteEveryUs;
    hot_keys_.promote(now_us);
  }

  std::unique_ptr<Store> leasing(const BenchOptions& options, const ParamsTable& params,
                                 std::unique_ptr<Store> store) {
    if (!options.node_leases) return store;
    store = std::make_unique<SparingStore>(std::move(store), SparingStore::Parts{params, clock_, random_()});
    return std::make_unique<LeasingStore>(
        std::move(store),
        LeasingStore::Parts{hot_, clock_, [this](std::uint64_t below) { return random_() % below; }});
  }

  int wait_ms() const {
    const std::int64_t due_us = std::min(next_tick_us_, store_->next_due_us());
    return static_cast<int>((std::max<std::int64_t>(due_us - clock_.now_us(), 0) + 999) / 1'000);
  }

  // Starts at most as many as there are free slots now: an answer will announce the next free slot, and a
  // store that answers at once cannot keep the thread busy here.
  void ask_due(Schedule& schedule, std::int64_t now_us) {
    for (std::uint32_t places = in_flight_max_ - under_way_; places > 0; --places) {
      const auto intended_us = schedule.take(now_us);
      if (!intended_us) return timer_.set(schedule.next_due_us() - clock_.now_us());
      ask_one(*intended_us);
    }
    if (under_way_ < in_flight_max_) timer_.set(0);  // some were answered at once
  }

  void ask_one(std::int64_t intended_us) {
    const auto at_once = engine_.check(checks_.next(), [this, intended_us] {
      ++under_way_;
      return [this, intended_us](const Result<Decision>& late) {
        --under_way_;
        finish(intended_us, late);
      };
    });
    if (at_once) finish(intended_us, *at_once);
  }

  void finish(std::int64_t intended_us, const Result<Decision>& decision) {
    auto outcome = CallOutcome::kFailed;
    if (!decision) {
      recorder_->note_failure(decision.error().message);
    } else if (decision->degraded) {
      recorder_->note_failure("the store did not answer in time, so the policy's failure rule decided");
    } else {
      outcome = decision->allowed ? CallOutcome::kAllowed : CallOutcome::kDenied;
    }
    recorder_->finished(intended_us, clock_.now_us(), outcome);
  }

  const Clock& clock_;
  const std::uint32_t in_flight_max_;
  net::EventLoop loop_;
  DueTimer timer_{loop_};
  net::TcpTransport transport_{loop_};
  HotKeys& hot_keys_;
  HotSketch hot_;
  std::mt19937_64 random_;
  const std::unique_ptr<Store> store_;
  Engine engine_;
  CheckSource checks_;
  Recorder* recorder_ = nullptr;  // while run() runs
  Tally tally_;
  std::uint32_t under_way_ = 0;
  std::int64_t next_tick_us_ = 0;
  std::int64_t next_promotion_us_ = 0;
};

}  // namespace

std::expected<Measurement, std::string> run_on_store(const BenchOptions& options, const Clock& clock,
                                                     const MakeStore& make_store) {
  DirectParts parts(clock);
  SLUICE_TRY(parts.load_policies(options.policies));

  std::vector<std::unique_ptr<StoreAsker>> askers;
  for (std::uint32_t i = 0; i < options.threads; ++i) {
    askers.push_back(std::make_unique<StoreAsker>(parts, options, i, make_store));
    SLUICE_TRY(askers.back()->connect());
  }

  Window window;
  open_window(window, options, clock);
  std::vector<std::function<void()>> threads;
  for (std::uint32_t i = 0; i < options.threads; ++i) {
    const Schedule schedule(options.rate_per_second, window.start_us - options.warmup_us,
                            {.thread = i, .threads = options.threads});
    threads.emplace_back([asker = askers[i].get(), &window, schedule] { asker->run(window, schedule); });
  }
  Measurement measured = run_through_window(window, options, clock, threads);
  for (const auto& asker : askers) measured.tally.merge(asker->tally());
  return measured;
}

}  // namespace sluice::loadgen

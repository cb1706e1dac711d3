#include "library/redis/redis_loop.h"

#include <pthread.h>
#include <signal.h>

#include <algorithm>
#include <utility>

#include "library/translation.h"

namespace sluice::library {
namespace {

constexpr std::int64_t kTickUs = 10'000;
constexpr std::uint64_t kLocalBytes = std::uint64_t{64} << 20;

// While one exists, threads that are started get no signals: these are the program's, not the library's.
class SignalsBlocked {
 public:
  SignalsBlocked() {
    sigset_t all;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before_);
  }
  ~SignalsBlocked() { pthread_sigmask(SIG_SETMASK, &before_, nullptr); }
  SignalsBlocked(const SignalsBlocked&) = delete;
  SignalsBlocked& operator=(const SignalsBlocked&) = delete;

 private:
  sigset_t before_;
};

}  // namespace

RedisLoop::RedisLoop(std::unique_ptr<FixedPolicies> policies, Settings settings)
    : policies_(std::move(policies)),
      settings_(std::move(settings)),
      local_(clock_, policies_->params(), {.bytes_max = kLocalBytes}),
      random_(std::random_device()()) {
  const SignalsBlocked blocked;
  thread_ = std::thread([this] { run(); });
}

RedisLoop::~RedisLoop() { stop(); }

bool RedisLoop::post(Work work) {
  bool wakes;
  {
    const Lock lock(mutex_);
    if (ended_) return false;
    wakes = posted_.empty();
    posted_.push_back(std::move(work));
  }
  if (wakes) loop_.wake();
  return true;
}

void RedisLoop::wait_connected(std::chrono::steady_clock::time_point deadline) {
  const Lock lock(mutex_);
  while (!is_connected_ && !ended_)
    if (connected_.wait_until(mutex_, deadline) == std::cv_status::timeout) return;
}

void RedisLoop::stop() {
  {
    const Lock lock(mutex_);
    stopping_ = true;
  }
  loop_.wake();
  if (is_own_thread()) return;
  const Lock lock(joining_);
  if (thread_.joinable()) thread_.join();
}

void RedisLoop::check(const Request& request, Done done) {
  if (!engine_) return done(closed_answer());
  const EngineRequest asked(request);
  const auto here = checks_.insert(checks_.end(), std::move(done));
  const auto answer = engine_->check(asked.get(), [this, here] {
    return [this, here](const Result<Decision>& late) {
      const Done waiting = std::move(*here);
      checks_.erase(here);
      waiting(answer_of(late, *policies_));
    };
  });
  if (!answer) return;
  const Done waiting = std::move(*here);
  checks_.erase(here);
  waiting(answer_of(*answer, *policies_));
}

void RedisLoop::reset(const Request& request, ResetDone done) {
  if (!engine_) return done(closed_reset());
  const EngineRequest asked(request);
  const auto here = resets_.insert(resets_.end(), std::move(done));
  const auto finish = [this, here](const Result<int>& counters) {
    const ResetDone waiting = std::move(*here);
    resets_.erase(here);
    waiting(answer_of(counters));
  };
  if (const auto answer = engine_->reset(asked.get(), {}, [&finish] { return finish; })) finish(*answer);
}

void RedisLoop::run() {
  own_id_.store(std::this_thread::get_id(), std::memory_order_relaxed);
  begin();
  for (;;) {
    {
      const Lock lock(mutex_);
      if (stopping_) break;
    }
    turn();
  }
  end();
}

void RedisLoop::begin() {
  transport_.emplace(loop_);
  loop_.count_sleep(clock_);
  store_ =
      make_redis_store(settings_.target, {.transport = *transport_,
                                          .clock = clock_,
                                          .wall_clock = wall_clock_,
                                          .params = policies_->params(),
                                          .random = [this](std::uint64_t below) { return random_() % below; },
                                          .log =
                                              [this](LogEvent event, std::string_view sentence) {
                                                if (settings_.log)
                                                  settings_.log(is_problem(event), std::string(sentence));
                                              },
                                          .key_prefix = settings_.key_prefix});
  engine_.emplace(Engine::Parts{.store = *store_,
                                .policies = policies_->in_force(),
                                .hasher = settings_.hasher,
                                .clock = clock_,
                                .totals = totals_,
                                .local = &local_,
                                .default_tenant = settings_.default_tenant});
}

void RedisLoop::turn() {
  loop_.wait(wait_ms(clock_.now_us()));
  store_->begin_burst();  // what is posted together is sent together
  loop_.dispatch();
  for (Work& work : take_posted()) work();
  store_->end_burst();
  const std::int64_t now_us = clock_.now_us();
  if (now_us >= std::min(next_tick_us_, store_->next_due_us())) {
    next_tick_us_ = now_us + kTickUs;
    store_->tick(now_us);
    local_.tend();
  }
  if (!was_connected_) look_for_connection();
}

int RedisLoop::wait_ms(std::int64_t now_us) const {
  const std::int64_t due_us = std::min(next_tick_us_, store_->next_due_us());
  return static_cast<int>((std::max<std::int64_t>(due_us - now_us, 0) + 999) / 1'000);
}

std::vector<RedisLoop::Work> RedisLoop::take_posted() {
  const Lock lock(mutex_);
  return std::exchange(posted_, {});
}

void RedisLoop::look_for_connection() {
  was_connected_ = store_->health().connected;
  if (!was_connected_) return;
  {
    const Lock lock(mutex_);
    is_connected_ = true;
  }
  connected_.notify_all();
}

// The engine goes first: without it, whatever is asked is answered "closed".
void RedisLoop::end() {
  engine_.reset();
  store_.reset();
  transport_.reset();
  for (const Done& waiting : std::exchange(checks_, {})) waiting(closed_answer());
  for (const ResetDone& waiting : std::exchange(resets_, {})) waiting(closed_reset());
  for (;;) {
    std::vector<Work> posted;
    {
      const Lock lock(mutex_);
      posted = std::exchange(posted_, {});
      ended_ = posted.empty();
    }
    if (posted.empty()) break;
    for (Work& work : posted) work();
  }
  connected_.notify_all();
}

}  // namespace sluice::library

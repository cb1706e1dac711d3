#include "cli/node_thread.h"

#include "telemetry/log.h"

namespace sluice::cli {
namespace {

constexpr std::int64_t kReportEveryUs = 100'000;

}  // namespace

NodeThread::NodeThread(const Shared& shared, net::EventLoop& loop, std::uint64_t seed, bool is_first)
    : shared_(shared),
      is_first_(is_first),
      transport_(loop),
      random_(seed),
      settings_generation_(shared.settings.generation()) {
  if (shared_.settings.current().redis) {
    LoopStore made = make_store();
    redis_ = std::make_unique<ReplaceableStore>(std::move(made.store));
    redis_counters_ = std::move(made.counters);
    redis_clocks_ = std::move(made.clocks);
  }
  limiter_.emplace(Limiter::Parts{store(), shared_.policies, shared_.hasher, shared_.clock, shared_.totals,
                                  &shared_.memory});
  app_.emplace(*limiter_, shared_.doors, random_());
  publish_report(0);
}

LoopStore NodeThread::make_store() {
  return make_redis_store(shared_.settings.current(),
                          {.transport = transport_,
                           .clock = shared_.clock,
                           .wall_clock = shared_.wall_clock,
                           .params = shared_.params,
                           .random = [this](std::uint64_t below) { return random_() % below; },
                           .log =
                               [](bool is_problem, const std::string& sentence) {
                                 log(is_problem ? LogLevel::kWarning : LogLevel::kInfo, sentence);
                               },
                           .asks_for_advice = is_first_});
}

void NodeThread::tick(std::int64_t now_us) {
  follow_settings(now_us);
  store().tick(now_us);
  if (redis_) shared_.in_memory.tick(now_us);
  app_->publish_health();
  if (now_us >= next_report_us_) publish_report(now_us);
}

void NodeThread::follow_settings(std::int64_t now_us) {
  const std::uint64_t generation = shared_.settings.generation();
  if (generation == settings_generation_ || !redis_) return;
  settings_generation_ = generation;
  LoopStore made = make_store();
  former_counters_ += redis_counters_();
  redis_->replace(std::move(made.store), now_us);
  redis_counters_ = std::move(made.counters);
  redis_clocks_ = std::move(made.clocks);
}

void NodeThread::publish_report(std::int64_t now_us) {
  next_report_us_ = now_us + kReportEveryUs;
  const AsyncStore::Health health = store().health();
  StoreReport report{.loops = 1, .connected = health.connected ? 1 : 0, .problems = health.problems};
  if (redis_) {
    report.redis = former_counters_;
    *report.redis += redis_counters_();
    report.clocks = redis_clocks_();
  }
  const std::lock_guard lock(report_mutex_);
  report.reached = report_.reached || health.connected;
  report_ = std::move(report);
}

StoreReport NodeThread::report() const {
  const std::lock_guard lock(report_mutex_);
  return report_;
}

}  // namespace sluice::cli

#include "control/control_plane.h"

#include <algorithm>
#include <chrono>
#include <new>
#include <utility>

#include "base/limits.h"
#include "base/time_units.h"
#include "telemetry/prometheus.h"

namespace sluice::control {
namespace {

constexpr std::int64_t kPauseUsMin = kSecondUs / 10, kPauseUsMax = 5 * kSecondUs;
constexpr std::int64_t kRemoveEveryUs = kDayUs / 4;  // it may have to scan all old records
constexpr std::int64_t kTryAgainUs = 600 * kSecondUs;
constexpr int kLookEveryMs = 500;  // at the ledger, if there are no jobs
constexpr std::int64_t kLookAmongJobsUs = kSecondUs / 4;
constexpr std::int64_t kShortageLogEveryUs = 60 * kSecondUs;
constexpr std::chrono::milliseconds kRest(20);  // after running out of memory, so that others can free some

}  // namespace

ControlPlane::ControlPlane(LedgerFollower& follower, const Clock& clock, Options options)
    : follower_(follower), clock_(clock), options_(std::move(options)) {
  {
    const Lock lock(mutex_);
    status_.since_us = clock_.now_us();
  }
  note(follower_.refresh());
  if (!follower_.is_loaded()) restore();
  thread_ = std::thread([this] { run(); });
}

ControlPlane::~ControlPlane() {
  {
    const Lock lock(mutex_);
    stopping_ = true;
  }
  woken_.notify_all();
  follower_.ledger().interrupt();
  thread_.join();
}

bool ControlPlane::submit(Job job) {
  {
    const Lock lock(mutex_);
    if (stopping_ || jobs_.size() >= kControlJobsMax) return false;
    jobs_.push_back(std::move(job));
  }
  woken_.notify_all();
  follower_.ledger().interrupt();
  return true;
}

ControlPlaneStatus ControlPlane::status() const {
  const Lock lock(mutex_);
  return status_;
}

bool ControlPlane::is_stopping() const {
  const Lock lock(mutex_);
  return stopping_;
}

void ControlPlane::run() {
  while (!is_stopping()) {
    try {
      take_turn();
    } catch (const std::bad_alloc&) {
      note_shortage();
    }
  }
}

void ControlPlane::take_turn() {
  // Jobs run one after the other without delay, but the other work does not wait until all of them are done.
  const bool had_a_job = run_a_job();
  const std::int64_t now_us = clock_.now_us();
  if (had_a_job && now_us < next_look_us_) return;
  next_look_us_ = now_us + kLookAmongJobsUs;
  if (now_us >= next_second_us_) {
    next_second_us_ = now_us + kSecondUs;
    for (const Job& job : options_.every_second) job(follower_);
    keep_copy();
  }
  const bool may_look = now_us >= next_try_us_;
  if (!had_a_job && !may_look) pause();
  if (!had_a_job && may_look) follower_.ledger().wait(kLookEveryMs);
  if (may_look) look_after();
}

// A dialogue with the database may have been broken off in the middle, so the next one starts on a new
// connection.
void ControlPlane::note_shortage() {
  follower_.ledger().start_over();
  std::uint64_t shortages;
  {
    const Lock lock(mutex_);
    shortages = ++status_.shortages;
  }
  if (const std::int64_t now_us = clock_.now_us(); shortages == 1 || now_us >= next_shortage_log_us_) {
    next_shortage_log_us_ = now_us + kShortageLogEveryUs;
    try {
      options_.log(LogEvent::kNodeOutOfMemory,
                   "the control plane ran out of memory and dropped some work; it keeps running");
    } catch (const std::bad_alloc&) {  // NOLINT(bugprone-empty-catch): not even for these words
    }
  }
  const Lock lock(mutex_);
  woken_.wait_for(mutex_, kRest, [this]() SLUICE_REQUIRES(mutex_) { return stopping_; });
}

bool ControlPlane::run_a_job() {
  Job job;
  {
    const Lock lock(mutex_);
    if (jobs_.empty()) return false;
    job = std::move(jobs_.front());
    jobs_.pop_front();
  }
  const std::int64_t before = follower_.revision();
  job(follower_);
  show_problems();
  if (follower_.revision() == before) return true;
  note({});  // the database has answered
  const Lock lock(mutex_);
  ++status_.writes;
  return true;
}

void ControlPlane::look_after() {
  note(follower_.refresh());
  const std::int64_t now_us = clock_.now_us();
  if (options_.audit_days > 0 && follower_.is_loaded() && now_us >= next_removal_us_) remove_old(now_us);
}

// One batch at a time, so that jobs need not wait.
void ControlPlane::remove_old(std::int64_t now_us) {
  const auto removed = follower_.prune(now_us - options_.audit_days * kDayUs, now_us);
  if (!removed)
    removal_trouble_ = "cannot remove old audit log entries (" + removed.error().message + ")";
  else
    removal_trouble_.clear();
  next_removal_us_ = now_us + (!removed ? kTryAgainUs : *removed > 0 ? kSecondUs : kRemoveEveryUs);
  show_problems();
  if (removed && *removed > 0)
    options_.log(LogEvent::kAuditPruned, "the audit log: removed " + std::to_string(*removed) +
                                             " entries older than " + std::to_string(options_.audit_days) +
                                             " days");
}

void ControlPlane::restore() {
  if (auto sentence = follower_.restore())
    restored_ = "the policy database could not be used at the start; " + std::move(*sentence);
  {
    const Lock lock(mutex_);
    status_.restored = !restored_.empty();
  }
  options_.log(LogEvent::kDatabaseCopyUsed, !restored_.empty()
                                                ? restored_
                                                : "the policy database was never read; checks that no "
                                                  "other policy applies to are decided by --before-policies");
  show_problems();
}

// A database may answer reads but refuse writes: its disk is full, it is locked, or it is a replica.
void ControlPlane::show_problems() {
  std::vector<std::string> problems = follower_.problems();
  log_new(problems);
  if (!trouble_.empty()) problems.push_back(trouble_);
  const std::string& refused = follower_.write_trouble();
  if (!refused.empty() && trouble_.empty())
    problems.push_back("the policy database " + follower_.ledger().name() + " answers but refuses writes (" +
                       refused + "); retrying every few seconds");
  if (!follower_.is_loaded() && !restored_.empty()) problems.push_back(restored_);
  for (const std::string* more : {&removal_trouble_, &copy_trouble_})
    if (!more->empty()) problems.push_back(*more);
  bool was_writable;
  {
    const Lock lock(mutex_);
    was_writable = std::exchange(status_.writable, refused.empty());
    status_.restored &= !follower_.is_loaded();
    status_.copy_usable = follower_.copy_trouble().empty() && copy_trouble_.empty();
    status_.problems = std::move(problems);
  }
  if (was_writable && !refused.empty()) options_.on_refusal(refused);
}

// Logs each problem once, as long as it lasts; if there are many, only some.
void ControlPlane::log_new(const std::vector<std::string>& problems) {
  constexpr std::size_t kShown = 10;
  if (problems.empty() && logged_.empty()) return;
  std::size_t news = 0;
  for (const std::string& problem : problems)
    if (!logged_.contains(problem) && ++news <= kShown)
      options_.log(LogEvent::kDatabaseRefusedDocument, problem);
  if (news > kShown)
    options_.log(LogEvent::kDatabaseRefusedDocument,
                 "and " + std::to_string(news - kShown) + " more; /readyz lists them all");
  logged_ = {problems.begin(), problems.end()};
}

void ControlPlane::keep_copy() {
  const auto kept = follower_.keep_copy(clock_);
  std::string trouble = kept ? ""
                             : "cannot save a copy of the policy database for a start without it (" +
                                   kept.error().message + "); set a folder with --state-dir";
  if (!trouble.empty() && copy_trouble_.empty()) options_.log(LogEvent::kDatabaseCopyFailed, trouble);
  if (trouble == std::exchange(copy_trouble_, trouble)) return;
  show_problems();
}

// The database may have answered that it has lost data, or that its data cannot be read.
std::string ControlPlane::trouble(const Error& error) const {
  return "the policy database " + follower_.ledger().name() + " cannot be used (" + error.message +
         "); the current policies stay in force, changes are refused";
}

void ControlPlane::note(const Result<void>& outcome) {
  const std::int64_t now_us = clock_.now_us();
  bool was_reachable, was_loaded;
  {
    const Lock lock(mutex_);
    was_reachable = std::exchange(status_.reachable, outcome.has_value());
    was_loaded = std::exchange(status_.loaded, follower_.is_loaded());
    if (was_reachable != status_.reachable) status_.since_us = now_us;
    status_.failures += !outcome;
    status_.revision = follower_.revision();
  }
  trouble_ = outcome ? "" : trouble(outcome.error());
  show_problems();
  if (!was_loaded && follower_.is_loaded()) options_.on_loaded();
  if (outcome) {
    failures_in_a_row_ = 0;
    next_try_us_ = 0;
    if (!was_loaded || !was_reachable)
      options_.log(LogEvent::kDatabaseReached, "the policy database " + follower_.ledger().name() +
                                                   " answers; revision " +
                                                   std::to_string(follower_.revision()));
    return;
  }
  if (was_reachable || failures_in_a_row_ == 0) options_.log(LogEvent::kDatabaseFailed, trouble_);
  // A database that lacks a record still answers; its other records must be followed.
  const bool answers = outcome.error().code == ErrorCode::kFailedPrecondition;
  const std::int64_t pause_us =
      answers ? kSecondUs / 2 : std::min(kPauseUsMin << std::min(failures_in_a_row_, 10), kPauseUsMax);
  ++failures_in_a_row_;
  const auto random = options_.random;
  const std::int64_t shorter =
      random ? static_cast<std::int64_t>(random(static_cast<std::uint64_t>(pause_us / 2))) : 0;
  next_try_us_ = now_us + pause_us - shorter;
}

// Pauses until there is a job, the database may be retried, or a second has passed.
void ControlPlane::pause() {
  const std::int64_t left_us = std::min(next_try_us_, next_second_us_) - clock_.now_us();
  const Lock lock(mutex_);
  woken_.wait_for(mutex_, std::chrono::microseconds(std::max<std::int64_t>(left_us, 1'000)),
                  [this]() SLUICE_REQUIRES(mutex_) { return stopping_ || !jobs_.empty(); });
}

std::string ControlPlaneStatus::metrics() const {
  PrometheusText text;
  const auto put = [&](std::string_view name, std::string_view type, std::string_view help,
                       std::uint64_t number) {
    text.family(name, type, help);
    text.sample({}, number);
  };
  put("rate_limiter_policy_database_up", "gauge", "Whether the latest call to the policy database succeeded.",
      reachable);
  put("rate_limiter_policy_database_writable", "gauge",
      "Whether the policy database accepted the latest change.", writable);
  put("rate_limiter_policy_copy_usable", "gauge",
      "Whether the copy of the policy database could be read at the start, and written since.", copy_usable);
  put("rate_limiter_policy_database_failures_total", "counter", "Failed calls to the policy database.",
      failures);
  put("rate_limiter_policy_revision", "gauge", "Revision of the policy database that is in force.",
      static_cast<std::uint64_t>(revision));
  put("rate_limiter_policy_problems", "gauge",
      "Documents of the policy database that are not in force, and why.", problems.size());
  put("rate_limiter_control_memory_failures_total", "counter",
      "Control plane work dropped for lack of memory.", shortages);
  return std::move(text).take();
}

}  // namespace sluice::control

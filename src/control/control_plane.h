#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "base/clock.h"
#include "base/control_limits.h"
#include "control/registry.h"

namespace sluice::control {

// How the control plane is doing, for /readyz, metrics and logs.
struct PlaneStatus {
  bool loaded = false;                // has read everything at least once
  bool restored = false;              // has not, but what a copy says is in force
  bool reachable = false;             // the database answered well the last time it was asked
  bool writable = true;               // it took the latest change
  std::int64_t since_us = 0;          // reachable or not since then
  std::int64_t revision = 0;          // of the ledger, applied
  std::uint64_t failures = 0;         // calls that the database did not answer well
  std::uint64_t writes = 0;           // changes written by this node
  std::uint64_t shortages = 0;        // work that was given up because there was no memory left
  std::vector<std::string> problems;  // sentences; the lack of a database is one
};

// Runs a Registry on a thread of its own, together with everything else that may block: jobs. Thread-safe.
//
//   plane.submit([later](Registry& registry) { later(answer_to(registry)); });
//
// Between jobs, and among them if there are many, it follows the ledger: told of changes by the database
// within a second, and asking by itself every few seconds whatever happens. A database that is gone changes
// nothing that is in force; it is asked again, with growing pauses, until it is back. Work for which there is
// no memory is given up and counted: a job is over then, and the ledger is read again from where it was
// applied.
class ControlPlane {
 public:
  using Job = std::function<void(Registry&)>;
  using Log = std::function<void(bool is_problem, const std::string& sentence)>;
  struct Options {
    Log log = [](bool, const std::string&) {};
    std::function<std::uint64_t(std::uint64_t below)> random;  // for pauses; empty: none is shortened
    std::function<void()> on_loaded = [] {};  // the first time; called by whatever thread loads
    // The database has begun to refuse changes although it answers: something must be written to find out
    // when that is over. Called by the plane's thread.
    std::function<void(const std::string& why)> on_refusal = [](const std::string&) {};
    std::vector<Job> every_second;  // what is to be done now and then, whether the database is there or not
    std::int64_t audit_days = kAuditDays;  // what is older goes from the audit log; 0: nothing does
  };

  // Reads the ledger once before it returns, so that the first check meets the policies; a database that does
  // not answer is tried again later, and meanwhile the registry's copy is in force. `ledger` and the keepers
  // of `registry` outlive it.
  ControlPlane(Registry& registry, const Clock& clock, Options options);
  ~ControlPlane();  // waits for the job at hand; those that wait are dropped
  ControlPlane(const ControlPlane&) = delete;
  ControlPlane& operator=(const ControlPlane&) = delete;

  // False: too many wait already.
  [[nodiscard]] bool submit(Job job);
  PlaneStatus status() const;

 private:
  void run();
  void take_turn();
  void note_shortage();
  bool run_a_job();
  void look_after();  // follows or loads, if it is time
  void remove_old(std::int64_t now_us);
  void note(const Result<void>& outcome);
  void restore();
  void keep_copy();
  std::string trouble(const Error& error) const;
  void show_problems();
  void log_new(const std::vector<std::string>& problems);
  void pause();

  Registry& registry_;
  const Clock& clock_;
  const Options options_;

  mutable std::mutex mutex_;
  std::condition_variable woken_;
  std::deque<Job> jobs_;   // guarded by mutex_
  bool stopping_ = false;  // guarded by mutex_
  PlaneStatus status_;     // guarded by mutex_

  std::int64_t next_try_us_ = 0;  // of a database that is gone
  std::int64_t next_second_us_ = 0;
  std::int64_t next_look_us_ = 0;  // however many jobs there are
  std::int64_t next_removal_us_ = 0;
  std::int64_t next_shortage_log_us_ = 0;
  int failures_in_a_row_ = 0;
  std::string trouble_;           // of the latest look; empty: none
  std::string restored_;          // what is in force instead of the database's own; empty: nothing
  std::string removal_trouble_;   // empty: none
  std::set<std::string> logged_;  // problems of documents
  bool copy_failed_ = false;
  std::thread thread_;
};

}  // namespace sluice::control

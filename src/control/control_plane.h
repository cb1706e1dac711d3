#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "base/clock.h"
#include "base/limits/control_limits.h"
#include "base/log/log_event.h"
#include "base/mutex.h"
#include "control/ledger_follower.h"

namespace sluice::control {

// The state of the control plane, for /readyz, metrics and logs.
struct ControlPlaneStatus {
  bool loaded = false;                // has read the whole ledger at least once
  bool restored = false;              // has not, but the contents of the copy are in force
  bool reachable = false;             // the latest call to the database succeeded
  bool writable = true;               // the latest change was accepted
  bool copy_usable = true;            // the copy for a start without it could be read, and written since
  std::int64_t since_us = 0;          // when `reachable` last changed
  std::int64_t revision = 0;          // of the ledger, up to which everything is applied
  std::uint64_t failures = 0;         // failed calls to the database
  std::uint64_t writes = 0;           // changes written by this node
  std::uint64_t shortages = 0;        // work abandoned for lack of memory
  std::vector<std::string> problems;  // sentences, including one if the database is unreachable

  std::string metrics() const;  // in Prometheus' text format
};

// Runs a LedgerFollower on its own thread, together with jobs: everything else that may block. Thread-safe.
//
//   plane.submit([later](LedgerFollower& follower) { later(answer_to(follower)); });
//
// Between jobs, however many there are, it follows the ledger: the database notifies it of changes, and the
// thread polls twice a second in any case. If the database is unreachable, everything in force
// stays; the thread retries with growing pauses. Work that runs out of memory is abandoned and counted: a job
// then ends, and the ledger is read again from the last applied record.
class ControlPlane {
 public:
  using Job = std::function<void(LedgerFollower&)>;
  struct Options {
    EventLog log = {};
    std::function<std::uint64_t(std::uint64_t below)> random;  // jitter for pauses; empty: no jitter
    std::function<void()> on_loaded = [] {};                   // called once, on the thread that loads
    // The database answers but has begun to refuse changes. Something must be written to find out when that
    // ends. Called on the control plane's thread.
    std::function<void(const std::string& why)> on_refusal = [](const std::string&) {};
    std::vector<Job> every_second;  // run about once a second, whether or not the database is reachable
    std::int64_t audit_days = kAuditDays;  // older records are removed from the audit log; 0: none are
  };

  // Reads the ledger once before it returns, so that the first check sees the policies. If the database does
  // not answer, it is retried later, and the follower's copy is in force until then. REQUIRES: the
  // follower, its ledger and the registries in it outlive this object, and so does the clock.
  ControlPlane(LedgerFollower& follower, const Clock& clock, Options options);
  ~ControlPlane();  // waits for the current job; waiting jobs are dropped
  ControlPlane(const ControlPlane&) = delete;
  ControlPlane& operator=(const ControlPlane&) = delete;

  // False: too many jobs are waiting.
  [[nodiscard]] bool submit(Job job);
  ControlPlaneStatus status() const;

 private:
  void run();
  void take_turn();
  void note_shortage();
  bool is_stopping() const SLUICE_EXCLUDES(mutex_);
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

  LedgerFollower& follower_;
  const Clock& clock_;
  const Options options_;

  mutable Mutex mutex_;
  Condition woken_;
  std::deque<Job> jobs_ SLUICE_GUARDED_BY(mutex_);
  bool stopping_ SLUICE_GUARDED_BY(mutex_) = false;
  ControlPlaneStatus status_ SLUICE_GUARDED_BY(mutex_);

  std::int64_t next_try_us_ = 0;  // while the database is unreachable
  std::int64_t next_second_us_ = 0;
  std::int64_t next_look_us_ = 0;  // due even if there are many jobs
  std::int64_t next_removal_us_ = 0;
  std::int64_t next_shortage_log_us_ = 0;
  int failures_in_a_row_ = 0;
  std::string trouble_;           // from the latest look; empty: none
  std::string restored_;          // what is in force instead of the ledger's contents; empty: nothing
  std::string removal_trouble_;   // empty: none
  std::set<std::string> logged_;  // problems of documents
  std::string copy_trouble_;      // the copy cannot be written; empty: it can
  std::thread thread_;
};

}  // namespace sluice::control

#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <thread>

#include "base/mutex.h"

namespace sluice::server {

// Runs a job on its own thread whenever it is requested: request() returns at once, however long the job
// takes. Requests during a run cause one more run, not one each. Thread-safe.
//
//   Reloader reloader([&] { reload(node); });
//   reloader.request();   // SIGHUP
class Reloader {
 public:
  // REQUIRES: the job does not throw.
  explicit Reloader(std::function<void()> job);
  // Waits for a running job. A requested job that has not begun is dropped.
  ~Reloader();
  Reloader(const Reloader&) = delete;
  Reloader& operator=(const Reloader&) = delete;

  void request();

 private:
  void run();

  const std::function<void()> job_;
  Mutex mutex_;
  Condition woken_;
  bool requested_ SLUICE_GUARDED_BY(mutex_) = false;
  bool stopping_ SLUICE_GUARDED_BY(mutex_) = false;
  std::thread thread_;
};

// The results of settings reloads. Thread-safe.
class SettingsStatus {
 public:
  void note_taken();
  void note_refused(const std::string& why);

  // A sentence for /readyz; empty if the last reload succeeded, or there was none.
  std::string problem() const;
  std::string metrics() const;

 private:
  mutable Mutex mutex_;
  std::uint64_t taken_ SLUICE_GUARDED_BY(mutex_) = 0;
  std::uint64_t refused_ SLUICE_GUARDED_BY(mutex_) = 0;
  std::string problem_ SLUICE_GUARDED_BY(mutex_);
};

}  // namespace sluice::server

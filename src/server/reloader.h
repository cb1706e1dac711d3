#pragma once

#include <condition_variable>
#include <functional>
#include <mutex>
#include <thread>

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
  std::mutex mutex_;
  std::condition_variable woken_;
  bool requested_ = false;  // guarded by mutex_
  bool stopping_ = false;   // guarded by mutex_
  std::thread thread_;
};

}  // namespace sluice::server

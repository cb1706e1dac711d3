#pragma once

#include <condition_variable>
#include <functional>
#include <mutex>
#include <thread>

namespace sluice::cli {

// Does a job whenever somebody asks, on a thread of its own: whoever asks goes on at once, however long the
// job takes. What is asked for while it is under way is done once more, not so many times. Thread-safe.
//
//   Reloader reloader([&] { reload(node); });
//   reloader.request();   // SIGHUP
class Reloader {
 public:
  // The job throws nothing.
  explicit Reloader(std::function<void()> job);
  ~Reloader();  // waits for the job under way; one that was asked for and has not begun is dropped
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

}  // namespace sluice::cli

#pragma once

#include <chrono>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <thread>
#include <vector>

namespace sluice {

// Calls back, on its own thread, when files or directories have changed and then been quiet for a moment.
// Files that never become quiet are also reported from time to time, as kChanging: they may be half-written.
// Thread-safe. No change is lost: a change during the callback leads to another callback. Some callbacks come
// although nothing has changed.
//
// Detects writes in place, replacement by rename, swapped symbolic links, deletion and re-creation. Where the
// kernel reports nothing (some network file systems, folders further up the path), it polls every few
// seconds.
class FileWatcher {
 public:
  struct Options {
    std::chrono::milliseconds debounce{100};      // quiet time after the last change before the call
    std::chrono::milliseconds patience{10'000};   // since the first change, if it is never quiet
    std::chrono::milliseconds poll_every{2'000};  // for file systems without change notification
  };

  // Whether the files are quiet, or are still being changed.
  enum class Rest { kQuiet, kChanging };

  // Changes made after the constructor returns are detected.
  FileWatcher(std::vector<std::string> paths, Options options, std::function<void(Rest)> changed);
  ~FileWatcher();  // waits for a callback in progress
  FileWatcher(const FileWatcher&) = delete;
  FileWatcher& operator=(const FileWatcher&) = delete;

 private:
  void run();
  void watch();         // also after a change: links may point elsewhere now
  bool drain_events();  // returns whether any event concerns our files
  const std::vector<std::string> paths_;
  const Options options_;
  const std::function<void(Rest)> changed_;
  const int inotify_;   // -1: the kernel has no inotify instances left for us
  const int quiet_;     // a timer: restarted by each change
  const int patience_;  // a timer: started by the first change that was not reported yet
  const int poll_;      // a timer: always runs
  const int stop_;      // an eventfd: readable once the thread must stop
  std::map<int, std::set<std::string>>
      watched_;       // inotify's id of a directory → the names that matter; "" is all
  std::string seen_;  // fingerprint before the latest callback
  std::thread thread_;
};

}  // namespace sluice

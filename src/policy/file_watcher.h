#pragma once

#include <chrono>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <thread>
#include <vector>

namespace sluice {

// Tells, from a thread of its own, when files or directories have changed and then been quiet for a moment.
// Files that never come to rest are told of once in a while, too, as what they are: half-written, perhaps.
// Thread-safe. Changes are never lost: one that happens during the call leads to another call. Sometimes it
// calls although nothing has changed.
//
// Notices writes in place, replacement by rename, swapped symbolic links, deletion and return. Where the
// kernel tells nothing (some network file systems, folders further up the path), it looks by itself every few
// seconds.
class FileWatcher {
 public:
  struct Options {
    std::chrono::milliseconds debounce{100};      // quiet time after the last change before the call
    std::chrono::milliseconds patience{10'000};   // since the first change, if it is never quiet
    std::chrono::milliseconds look_every{2'000};  // for file systems that tell nothing
  };

  // Whether the files have been quiet, or are being changed this very moment.
  enum class Rest { kQuiet, kChanging };

  // What changes after the constructor has returned is noticed.
  FileWatcher(std::vector<std::string> paths, Options options, std::function<void(Rest)> changed);
  ~FileWatcher();  // waits for a call in progress
  FileWatcher(const FileWatcher&) = delete;
  FileWatcher& operator=(const FileWatcher&) = delete;

 private:
  void run();
  void watch();         // (again): links may lead elsewhere now
  bool drain_events();  // returns whether any concerns us
  const std::vector<std::string> paths_;
  const Options options_;
  const std::function<void(Rest)> changed_;
  const int inotify_;   // -1: the kernel has no watches left for us
  const int quiet_;     // a timer: begins anew with each change
  const int patience_;  // a timer: begins with the first change that nobody was told of
  const int look_;      // a timer: always runs
  const int stop_;      // an eventfd, readable once we are to stop
  std::map<int, std::set<std::string>>
      watched_;       // inotify's number of a directory → names that matter; "" is all
  std::string seen_;  // fingerprint before the latest call
  std::thread thread_;
};

}  // namespace sluice

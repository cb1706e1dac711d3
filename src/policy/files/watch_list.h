#pragma once

#include <set>
#include <string>
#include <utility>
#include <vector>

namespace sluice {

// A place where a change may change what a path means: `name` in `directory`, or, if the name is empty,
// anything in the directory.
struct WatchPoint {
  std::string directory;
  std::string name;
  friend auto operator<=>(const WatchPoint&, const WatchPoint&) = default;
};

// The places to watch to see every change of these files and directories: the file in its directory (it may
// be replaced or re-created), everything in a policy directory, and, for every symbolic link along the path,
// the link and its target. So a swapped link is detected wherever it is in the path.
std::set<WatchPoint> watch_points(const std::vector<std::string>& paths);

// A text that changes when any of the files does. Polled for file systems without change notification.
std::string fingerprint(const std::vector<std::string>& paths);

}  // namespace sluice

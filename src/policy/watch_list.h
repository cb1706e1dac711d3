#pragma once

#include <set>
#include <string>
#include <utility>
#include <vector>

namespace sluice {

// Something whose change may change what a path means: `name` in `directory`, or, with an empty name,
// anything in it.
struct WatchPoint {
  std::string directory;
  std::string name;
  friend auto operator<=>(const WatchPoint&, const WatchPoint&) = default;
};

// Where to watch to see every change of these files and directories: the file in its directory (so that it
// may be replaced or made anew), everything in a policy directory, and, for every symbolic link on the way,
// the link and what it points to. That is how a swapped link is noticed, wherever in the path it stands.
std::set<WatchPoint> watch_points(const std::vector<std::string>& paths);

// A text that changes when any of the files does: for file systems that tell nothing, looked at from time to
// time.
std::string fingerprint(const std::vector<std::string>& paths);

}  // namespace sluice

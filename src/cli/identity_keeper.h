#pragma once

#include <mutex>
#include <string>
#include <vector>

#include "control/identities.h"

namespace sluice::cli {

// The identities of --identities, read again when somebody says so. Thread-safe.
class IdentityKeeper {
 public:
  // An empty path: there are none. Throws CommandError that names file, line and field.
  explicit IdentityKeeper(const std::string& path);

  const control::IdentityBoard& board() const { return board_; }

  // Reads the file again, or another one. If it is wrong, what was in force stays, and the log says so.
  void reload(const std::string& path);
  std::vector<std::string> problems() const;  // for /readyz

 private:
  control::IdentityBoard board_;
  mutable std::mutex mutex_;
  std::vector<std::string> problems_;  // guarded by mutex_
};

}  // namespace sluice::cli

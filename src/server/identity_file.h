#pragma once

#include <mutex>
#include <string>
#include <vector>

#include "control/access/identities.h"

namespace sluice::server {

// The identities of --identities; reloaded on request. Thread-safe.
class IdentityFile {
 public:
  // An empty path: no identities. Throws a CommandError that names file, line and field.
  explicit IdentityFile(const std::string& path);

  const control::IdentityRegistry& registry() const { return registry_; }

  // Reads the file again, or another one. If it is invalid, the previous identities stay in force, and that
  // is logged.
  void reload(const std::string& path);
  std::vector<std::string> problems() const;  // for /readyz

 private:
  control::IdentityRegistry registry_;
  mutable std::mutex mutex_;
  std::vector<std::string> problems_;  // guarded by mutex_
};

}  // namespace sluice::server

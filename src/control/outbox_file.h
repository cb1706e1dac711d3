#pragma once

#include <string>
#include <vector>

#include "base/error.h"
#include "ledger/record.h"

namespace sluice::control {

// Changes that wait for the ledger, in a file of the state folder: what an operator did while the database
// was unreachable survives a restart of the process. Not thread-safe.
class OutboxFile {
 public:
  // `of` identifies the ledger; each ledger has its own file. An empty folder: nothing is kept.
  OutboxFile(const std::string& state_dir, const std::string& of);

  bool has_path() const { return !path_.empty(); }
  // Empty: there is no file. kFailedPrecondition: the file is damaged.
  Result<std::vector<ledger::Change>> read() const;
  // Replaces the contents. An empty list removes the file.
  Result<void> write(const std::vector<ledger::Change>& changes) const;

 private:
  const std::string path_;  // empty: nothing is kept
};

}  // namespace sluice::control

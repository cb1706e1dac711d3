#pragma once

#include <string>
#include <vector>

#include "base/error.h"
#include "ledger/record.h"

namespace sluice::control {

// Changes that wait for the ledger, in a file of the state folder: what an operator has done while the
// database was gone outlives the process. Not thread-safe.
class OutboxFile {
 public:
  // `of`: which ledger they wait for; another one has another file. An empty folder: nothing is kept.
  OutboxFile(const std::string& state_dir, const std::string& of);

  bool has_path() const { return !path_.empty(); }
  // Nothing: there is none. kFailedPrecondition: it is damaged.
  Result<std::vector<ledger::Change>> read() const;
  // These are all. None: the file goes.
  Result<void> write(const std::vector<ledger::Change>& changes) const;

 private:
  const std::string path_;  // empty: nothing is kept
};

}  // namespace sluice::control

#pragma once

#include <string>

#include "base/error.h"
#include "cli/cell_homes.h"

namespace sluice::cli {

// The file of the state folder that remembers where tenants are counted, for the next start (CellHomes).
// Thread-safe, but for two who write.
class CellMemoryFile {
 public:
  // `of`: which default store it belongs to; another one has another file. An empty folder: none is kept.
  CellMemoryFile(const std::string& state_dir, const std::string& of);

  // None: there is no file, or no good one.
  CellMemory read() const;
  // Nothing is written if nothing has ever been to remember. Who is being looked for is where it was before
  // or, if that is where it is wanted, nowhere: then it is looked for again.
  Result<void> write(const Cells& cells, const Cells& wanted) const;

 private:
  const std::string path_;  // empty: none is kept
};

}  // namespace sluice::cli

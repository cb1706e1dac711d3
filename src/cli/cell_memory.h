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
  // Nothing is written while tenants are being looked for, nor if nothing has ever been to remember.
  Result<void> write(const Cells& cells) const;

 private:
  const std::string path_;  // empty: none is kept
};

}  // namespace sluice::cli

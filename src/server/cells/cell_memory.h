#pragma once

#include <string>

#include "base/error.h"
#include "server/cells/cell_homes.h"

namespace sluice::server {

// The file in the state folder that remembers where tenants are counted, for the next start (CellHomes).
// Thread-safe, except that only one thread may write at a time.
class CellMemoryFile {
 public:
  // `of`: the default store that the file belongs to; another store has another file. An empty folder: no
  // file is kept.
  CellMemoryFile(const std::string& state_dir, const std::string& of);

  // nullopt if there is no file, or it is not valid.
  CellMemory read() const;
  // Writes nothing if there has never been anything to remember. A tenant that is being looked for is stored
  // with its previous place or, if that is where it should be, with none: then it is looked for again.
  Result<void> write(const Cells& cells, const Cells& wanted) const;

 private:
  const std::string path_;  // empty: no file is kept
};

}  // namespace sluice::server

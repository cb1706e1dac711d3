#pragma once

#include <cstddef>

namespace sluice {

// Memory that is kept back for the moment when there is no more: the first `new` that would fail gets it, so
// that what is under way can be finished. Whoever sees that it is spent sheds load, and fills it up again.
// When it is spent and not enough, `new` throws std::bad_alloc as ever. One for the process; thread-safe.
class MemoryReserve {
 public:
  // From now on. Call it once, early.
  static void keep(std::size_t bytes);
  static bool is_spent();
  // False: there is still too little memory.
  static bool fill_up();
};

}  // namespace sluice

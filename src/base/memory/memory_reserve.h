#pragma once

#include <cstddef>

namespace sluice {

// Memory that is held back for the moment when there is no more: the first `new` that would fail gets it, so
// that work in progress can be finished. Code that sees that it is spent sheds load and refills it. If it is
// spent and not enough, `new` throws std::bad_alloc as usual. One per process; thread-safe.
class MemoryReserve {
 public:
  // Starts holding memory back. Call it once, early.
  static void keep(std::size_t bytes);
  static bool is_spent();
  // False: there is still too little memory.
  static bool fill_up();
};

}  // namespace sluice

#pragma once

namespace sluice {

// Returns freed memory, which the allocator keeps for reuse, to the system. Worth its milliseconds after a
// large operation that will not repeat soon. Thread-safe.
void return_freed_memory();

}  // namespace sluice

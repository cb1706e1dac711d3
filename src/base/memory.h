#pragma once

namespace sluice {

// Gives back to the system what was freed but is kept for later. Worth its milliseconds after something large
// that does not come again soon. Thread-safe.
void return_freed_memory();

}  // namespace sluice

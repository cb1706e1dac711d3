#include "base/memory/freed_memory.h"

#include <malloc.h>

namespace sluice {

void return_freed_memory() { malloc_trim(0); }

}  // namespace sluice

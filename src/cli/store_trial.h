#pragma once

#include <optional>
#include <string>

#include "cli/store_setup.h"

namespace sluice::cli {

// Connects to a store as a server would: finds it, logs in, loads the script. Nothing: it is there. Else the
// reason why it cannot be used, a sentence. Blocks, for two seconds at most. REQUIRES: settings.redis
std::optional<std::string> try_store(const StoreSettings& settings);

}  // namespace sluice::cli

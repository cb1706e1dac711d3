#pragma once

#include <optional>
#include <string>

#include "server/store_setup.h"

namespace sluice::server {

// Connects to a store as a server would: resolves it, logs in, loads the script. Returns nullopt on success,
// else a sentence that says why it cannot be used. Blocks for at most two seconds. REQUIRES: settings.redis
std::optional<std::string> try_store(const StoreSettings& settings);

}  // namespace sluice::server

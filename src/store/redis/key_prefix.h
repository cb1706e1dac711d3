#pragma once

namespace sluice {

// What the names of all keys in Redis begin with, unless the operator says otherwise.
inline constexpr const char* kDefaultKeyPrefix = "rl:";

}  // namespace sluice

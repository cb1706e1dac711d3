#pragma once

#include <string_view>

namespace sluice {

// The script that decides in Redis, put together from the Lua files by the build. See README.md.
std::string_view redis_script();

}  // namespace sluice

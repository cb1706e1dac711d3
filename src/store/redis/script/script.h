#pragma once

#include <string_view>

namespace sluice {

// The script that decides in Redis, put together from the Lua files by the build. See README.md.
std::string_view redis_script();

// The same for a server that has no memory left: with when_full.lua.
std::string_view redis_script_when_full();

// The script with all steps that move a tenant to another server: tenant_move.lua.
std::string_view tenant_move_script();

}  // namespace sluice

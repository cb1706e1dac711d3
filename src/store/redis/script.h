#pragma once

#include <string_view>

namespace sluice {

// The script that decides in Redis, put together from the Lua files by the build. See README.md.
std::string_view redis_script();

// What stands before it while the server has no memory left: when_full.lua.
std::string_view when_full_script();

// The script of all steps by which a tenant moves to another server: tenant_move.lua.
std::string_view tenant_move_script();

}  // namespace sluice

#pragma once

#include <string_view>

namespace sluice {

// Whether they are equal. Takes equally long wherever they differ, so that nobody can guess a secret byte by
// byte.
bool is_same_secret(std::string_view one, std::string_view other);

}  // namespace sluice

#pragma once

#include <optional>
#include <string>

#include "base/clock.h"
#include "control/registry.h"

namespace sluice::control {

// Makes the token that all others can be made with, called "bootstrap", with the role admin. Nothing if there
// is one of that name already, or the database does not answer: of several nodes that start together, one
// gets it.
std::optional<std::string> make_first_token(Registry& registry, const Clock& clock);

}  // namespace sluice::control

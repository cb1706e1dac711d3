#pragma once

#include <optional>

#include "policy/fields.h"
#include "policy/model.h"

namespace sluice {

// One element of `policies`. Reports everything that is wrong with it; no value then.
std::optional<Policy> read_policy(const DocumentNode& node, const Place& place);

}  // namespace sluice

#pragma once

#include <optional>

#include "policy/fields.h"
#include "policy/model.h"

namespace sluice {

// A resource pattern as an author writes it; "*" is everything, which is kept as no text.
Literal<std::string> parse_resource(std::string_view text);

// One element of `policies`. Reports everything that is wrong with it; no value then.
std::optional<Policy> read_policy(const DocumentNode& node, const Place& place);

}  // namespace sluice

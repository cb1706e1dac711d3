#pragma once

#include <optional>

#include "document/fields.h"
#include "policy/model.h"

namespace sluice {

// Parses a resource pattern as an author writes it. "*" means everything and is stored as an empty text.
Literal<std::string> parse_resource(std::string_view text);

// Reads one element of `policies`. Reports all errors in it; then returns no value.
std::optional<Policy> read_policy(const DocumentNode& node, const Place& place);

}  // namespace sluice

#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "control/access/principal.h"
#include "document/fields.h"

namespace sluice::control {

// What a caller may do and where, as in documents: `roles`, at least one, and `tenants`, patterns; none: all
// tenants. A plain value.
struct Rights {
  std::vector<Role> roles;
  std::vector<std::string> tenants;
};

// Reads the two fields and reports errors. `whose` is for messages: "a token".
Rights read_rights(const Fields& fields, const Place& place, std::string_view whose);

}  // namespace sluice::control

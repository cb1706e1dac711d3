#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "control/principal.h"
#include "policy/fields.h"

namespace sluice::control {

// What somebody may do and where, as documents say it: `roles`, at least one, and `tenants`, patterns; none:
// all tenants. A plain value.
struct Rights {
  std::vector<Role> roles;
  std::vector<std::string> tenants;
};

// Reads the two fields. `whose` is for messages, "a token". What is wrong is reported.
Rights read_rights(const Fields& fields, const Place& place, std::string_view whose);

}  // namespace sluice::control

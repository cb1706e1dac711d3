#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "policy/model.h"

namespace sluice {

// A policy with which more limits than kLimitsPerCheckMax could apply to one request.
struct Crowd {
  std::size_t policy = 0;  // position in the list: the last `always` policy that takes part
  std::string message;
};

// Looks for requests that every check would refuse because too many limits apply. What may meet in a request
// is counted from above: of one tenant and of any tenant, all `always` policies with patterns, the fullest
// exact resource of each, and the largest other policy there is, since a caller may name any by its id.
// Shadow policies are planned apart and therefore counted apart. At most one crowd per tenant; none per
// tenant when those for any tenant are already too many.
std::vector<Crowd> find_crowds(const std::vector<const Policy*>& policies);

}  // namespace sluice

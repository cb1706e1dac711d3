#pragma once

#include <string_view>
#include <vector>

#include "policy/document.h"
#include "policy/model.h"
#include "policy/problems.h"

namespace sluice {

// Whether a valid policy would deny every request that comes under it, and comes under it whoever asks for
// whatever: the mistake that takes everybody's service down. Who means it confirms it.
//
// That is a policy for any tenant and any resource ("/*" included), not in shadow and rolled out to half of
// the keys or more, of which one limit never has room: its rate is 0, or its capacity is below the least that
// a request costs (its own cost aside, which a caller may name). A tier in which every limit has room is a
// way in, so then it is false. A limit whose dimensions a request may lack counts like any other, and so does
// a later `valid_from`.
bool denies_everyone(const Policy& policy);

// Adds a problem for each such policy; `how_to_confirm` ends its sentence.
void refuse_denying_everyone(const std::vector<WrittenPolicy>& policies, std::string_view how_to_confirm,
                             Problems& problems);

}  // namespace sluice

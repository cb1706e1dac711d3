#pragma once

#include <string_view>
#include <vector>

#include "document/problems.h"
#include "policy/document/policy_document.h"
#include "policy/model.h"

namespace sluice {

// Whether a valid policy would deny every request from every caller: the mistake that takes the whole service
// down. An author who means it must confirm it.
//
// True for a policy that applies to any tenant and any resource ("/*" included), is not in shadow, is rolled
// out to at least half of the keys, and has a limit that never has room: its rate is 0, or its capacity is
// below the lowest cost of a request. (A caller may name its own cost; that is not considered.) False if
// some tier has room in every limit, because that tier still lets requests in. A limit whose dimensions a
// request may lack counts like any other, and so does a later `valid_from`.
bool denies_everyone(const Policy& policy);

// Adds a problem for each such policy. `how_to_confirm` is the end of the message.
void refuse_denying_everyone(const std::vector<WrittenPolicy>& policies, std::string_view how_to_confirm,
                             Problems& problems);

}  // namespace sluice

#pragma once

#include <string>

#include "base/hash.h"
#include "engine/check_request.h"
#include "store/async_store.h"

namespace sluice {

// How a request with an id is recognised when it comes again. Ids are scoped by tenant and policy, so nobody
// runs into another tenant's; the fingerprint is that of all the caller said, so that the same id on another
// question is found out. It does not depend on the order of the dimensions (a protobuf map has none) nor on
// the policies' numbers (a retry after a policy change is still a retry).
//
// `part` tells the enforced limits' record from that of the shadow ones. `scratch` is overwritten.
// REQUIRES: the request is valid and has an id.
Dedupe identity_of(const CheckRequest& request, const CompiledPolicy& policy, char part,
                   const KeyHasher& hasher, std::string& scratch);

}  // namespace sluice

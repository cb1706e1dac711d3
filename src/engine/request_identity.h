#pragma once

#include <string>
#include <string_view>

#include "base/hash.h"
#include "engine/check_request.h"
#include "engine/planner.h"
#include "store/async_store.h"

namespace sluice {

// What a request with an id has come to.
struct PlannedRequest {
  std::string_view tenant;       // that it is about, said or implied
  const CompiledPolicy& policy;  // the most specific one
  const Snapshot& policies;
  const Plan& plan;
  char part;  // tells the enforced limits' record from that of the shadow ones
};

// How a request with an id is recognised when it comes again. Ids are scoped by tenant and policy, so nobody
// runs into another tenant's; the fingerprint is that of all the caller said, so that the same id on another
// question is found out. It does not depend on the order of the dimensions (a protobuf map has none) nor on
// the policies' numbers (a retry after a policy change is still a retry); the terms do.
//
// The record's owner is the caller and, of what is the caller's, the tenant. Tenants are names that callers
// say; those whom no policy names have a part together, so that whoever invents some takes nothing from
// others.
//
// `scratch` is overwritten. REQUIRES: the request is valid and has an id.
Dedupe identity_of(const CheckRequest& request, const PlannedRequest& planned, const KeyHasher& hasher,
                   std::string& scratch);

}  // namespace sluice

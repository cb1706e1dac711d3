#pragma once

#include <string>
#include <string_view>

#include "base/secret/hash.h"
#include "engine/planner/planner.h"
#include "engine/request/check_request.h"
#include "store/store.h"

namespace sluice {

// The plan of a request with an id.
struct PlannedRequest {
  std::string_view tenant;       // its own or the implied one
  const CompiledPolicy& policy;  // the most specific one
  const Snapshot& policies;
  const Plan& plan;
  char kind;  // distinguishes the records of the enforced, shadow and comparison plans
};

// How a repeated request with an id is recognised. Ids are scoped by tenant and policy, so ids of different
// tenants never collide. The fingerprint covers everything that the caller sent, so that reusing an id for a
// different request is detected. It does not depend on the order of the dimensions (a protobuf map has none)
// nor on the policies' numbers (a retry after a policy change is still a retry); the terms do.
//
// The owner of the record is the caller and, within the caller's share, the tenant. Callers choose tenant
// names freely, so tenants that no policy names share one part: a caller that invents names takes nothing
// from others.
//
// `scratch` is overwritten. REQUIRES: the request is valid and has an id.
Dedupe identity_of(const CheckRequest& request, const PlannedRequest& planned, const KeyHasher& hasher,
                   std::string& scratch);

}  // namespace sluice

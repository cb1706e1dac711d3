#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "base/error.h"
#include "doors/access/caller.h"
#include "doors/door_context.h"
#include "doors/envoy/envoy_quota.h"
#include "engine/request/check_request.h"
#include "policy/envoy/envoy_lookup.h"
#include "policy/snapshot/snapshot.h"

namespace sluice::doors {

// Makes the checks for the request in the context's scratch space: finds the rule of each descriptor in the
// tree of its domain. Not thread-safe; lives as long as one request is planned.
class EnvoyPlanner {
 public:
  // `owner`: of limits that come with the request; null if they are known already.
  EnvoyPlanner(DoorContext& context, const Snapshot& policies, const Caller* owner)
      : context_(context),
        owner_(owner),
        envoy_(context.envoy),
        domain_(policies.find_envoy_domain(context.envoy.request.domain)) {}

  // Fills the planned descriptors and the refunds, and returns the checks, without those for the descriptors
  // in `full`.
  Result<std::span<const CheckRequest>> plan(std::int64_t deadline_us, std::span<const FullQuota> full);

  // Whether a limit of the latest plan has `quota_mode`.
  bool has_quotas() const { return has_quotas_; }

 private:
  using Kind = PlannedDescriptor::Kind;

  void find(std::size_t i);
  void drop_replaced();
  Result<void> fill(std::size_t i, std::string_view resource, CheckRequest& check);

  DoorContext& context_;
  const Caller* const owner_;
  EnvoyScratch& envoy_;
  const EnvoyLookup* const domain_;  // null: no file describes it
  bool has_replacements_ = false;
  bool has_quotas_ = false;
};

}  // namespace sluice::doors

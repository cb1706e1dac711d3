#pragma once

#include <array>
#include <cstddef>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "policy/model.h"

// Finds policies under which a request would have more limits than a check allows, before such a request
// arrives.
//
// The number of limits that can meet in a request is an upper bound: all `always` policies with patterns, the
// largest group of other `always` policies for one exact resource, and one more policy, because a caller may
// name any policy of its tenant by id. It is computed per tenant, together with the policies for any tenant.
// Policies of two tenants never meet, so one tenant's policies do not limit another's. Shadow policies are
// planned and counted separately.
namespace sluice {

// The limits that the policies of one tenant, or those for any tenant, can add to one request. Points to
// policies, which must outlive it. Not thread-safe.
class LimitsPerRequest {
 public:
  void add(const Policy& policy);

  std::size_t always() const { return always_anywhere_ + fullest_; }
  // The largest policy that may apply in addition: a specific one, or one for another exact resource.
  const Policy* beside() const;
  std::size_t limits() const { return always() + (beside() ? beside()->limits.size() : 0); }
  const Policy* last_always() const { return last_always_; }

 private:
  std::size_t always_anywhere_ = 0;                    // limits of policies with patterns or no resource
  std::map<std::string_view, std::size_t> always_at_;  // limits per exact resource; these never meet
  std::size_t fullest_ = 0;                            // the largest of always_at_
  const Policy* largest_exact_ = nullptr;
  const Policy* specific_ = nullptr;
  const Policy* last_always_ = nullptr;
};

// Enforced policies, then those in shadow.
using LimitsPerRequests = std::array<LimitsPerRequest, 2>;

// The message that more than kLimitsPerCheckMax limits could apply to a request of this tenant; empty: that
// cannot happen. An empty tenant stands for any tenant without policies of its own; then `own` is empty.
std::string too_many_limits_message(std::string_view tenant, const LimitsPerRequest& own,
                                    const LimitsPerRequest& any);

// A policy with which there are too many.
struct TooManyLimits {
  std::size_t policy = 0;  // position in the list: the last `always` policy that contributes
  std::string message;
};

// At most one per tenant; none per tenant if the policies for any tenant are already too many.
std::vector<TooManyLimits> find_too_many_limits(const std::vector<const Policy*>& policies);

}  // namespace sluice

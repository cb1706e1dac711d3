#pragma once

#include <array>
#include <cstddef>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "policy/model.h"

// Requests that every check would refuse because too many limits apply are found before they come.
//
// What may meet in a request is counted from above: all `always` policies with patterns, the fullest exact
// resource of others, and one more policy, since a caller may name any of its tenant by its id. It is counted
// for each tenant by itself, with what is for any tenant: policies of two tenants never meet, so nobody's
// policies stand in the way of another tenant's. Shadow policies are planned apart and counted apart.
namespace sluice {

// What the policies of one tenant, or those for any tenant, can bring to one request. Points to policies,
// which outlive it.
class LimitCrowd {
 public:
  void add(const Policy& policy);

  std::size_t always() const { return always_anywhere_ + fullest_; }
  // The largest that may come beside those: a specific one, or one for another exact resource.
  const Policy* beside() const;
  std::size_t limits() const { return always() + (beside() ? beside()->limits.size() : 0); }
  const Policy* last_always() const { return last_always_; }

 private:
  std::size_t always_anywhere_ = 0;                    // of those with patterns or without a resource
  std::map<std::string_view, std::size_t> always_at_;  // of those with an exact resource, which never meet
  std::size_t fullest_ = 0;                            // the largest of always_at_
  const Policy* largest_exact_ = nullptr;
  const Policy* specific_ = nullptr;
  const Policy* last_always_ = nullptr;
};

// Enforced ones and those in shadow.
using LimitCrowds = std::array<LimitCrowd, 2>;

// Why more than kLimitsPerCheckMax limits could apply to a request of this tenant; empty: they could not.
// An empty tenant: of any that has no policies of its own, and `own` is empty.
std::string crowd_message(std::string_view tenant, const LimitCrowd& own, const LimitCrowd& any);

// A policy with which that is so.
struct Crowd {
  std::size_t policy = 0;  // position in the list: the last `always` policy that takes part
  std::string message;
};

// At most one crowd per tenant; none per tenant when those for any tenant are already too many.
std::vector<Crowd> find_crowds(const std::vector<const Policy*>& policies);

}  // namespace sluice

#pragma once

#include <array>
#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "policy/model.h"

// Finds policies under which a request would cost more than a check may, before such a request arrives: too
// many limits, or sliding_logs with too many entries.
//
// What can meet in a request is an upper bound: all `always` policies with patterns, the largest group of
// other `always` policies for one exact resource, and one more policy, because a caller may name any policy
// of its tenant by id. It is computed per tenant, together with the policies for any tenant. Policies of two
// tenants never meet, so one tenant's policies do not limit another's. Shadow policies are planned and
// counted separately.
namespace sluice {

// Of all sliding_logs of one request: they take Redis up to 4 ms.
inline constexpr std::size_t kLogEntriesPerCheckMax = 8192;

// How much of one quantity the policies of one tenant, or those for any tenant, can add to one request.
// Points to policies, which must outlive it. Not thread-safe.
class MostPerRequest {
 public:
  // A policy, and how much it adds.
  struct Part {
    const Policy* policy = nullptr;
    std::size_t amount = 0;
  };

  void add(const Policy& policy, std::size_t amount);

  std::size_t always() const { return always_anywhere_ + fullest_; }
  // The largest policy that may apply in addition: a specific one, or one for another exact resource.
  Part beside() const;
  std::size_t all() const { return always() + beside().amount; }
  const Policy* last_always() const { return last_always_; }

 private:
  std::size_t always_anywhere_ = 0;                    // of policies with patterns or no resource
  std::map<std::string_view, std::size_t> always_at_;  // per exact resource; these never meet
  std::size_t fullest_ = 0;                            // the largest of always_at_
  Part largest_exact_;
  Part specific_;
  const Policy* last_always_ = nullptr;
};

// What the policies of one tenant, or those for any tenant, can add to one request.
struct LimitsPerRequest {
  void add(const Policy& policy);

  MostPerRequest limits;
  MostPerRequest log_entries;  // the sum of N of sliding_logs, in the largest tier
};

// Enforced policies, then those in shadow.
using LimitsPerRequests = std::array<LimitsPerRequest, 2>;

// More could apply to a request than a check may have.
struct TooManyLimits {
  std::string_view field;  // of a policy: where to change it
  std::string message;
  std::array<const Policy*, 3> policies{};  // some that contribute, or null; the last one written is to blame
};

// Of a request of this tenant: whether there may be more than kLimitsPerCheckMax limits, or more than
// kLogEntriesPerCheckMax entries. An empty tenant stands for any tenant without policies of its own; then
// `own` is empty.
std::optional<TooManyLimits> find_too_many_limits(std::string_view tenant, const LimitsPerRequest& own,
                                                  const LimitsPerRequest& any);

// At most one per tenant; none per tenant if the policies for any tenant are already too many.
std::vector<TooManyLimits> find_too_many_limits(const std::vector<const Policy*>& policies);

}  // namespace sluice

#pragma once

#include <string>
#include <vector>

#include "cli/policy/remote_policies.h"
#include "policy/document/document_diff.h"
#include "policy/model.h"

namespace sluice::cli {

// How a server's policies would change if the policies of a file were applied.
struct ApplyPlan {
  struct Step {
    Policy after;
    std::optional<RemotePolicy> before;  // none: the policy is new
  };
  std::vector<Step> steps;  // in file order
  std::size_t unchanged = 0;

  bool is_empty() const { return steps.empty(); }
};

ApplyPlan make_plan(const std::vector<Policy>& wanted, const std::vector<RemotePolicy>& present);

// Human-readable: "+ id" with the document, "~ id, version 3" with each field that differs, and a line with
// the totals.
std::string plan_text(const ApplyPlan& plan);

// The differing fields of one policy, one indented line each.
std::string changes_text(const Policy& before, const Policy& after);

}  // namespace sluice::cli

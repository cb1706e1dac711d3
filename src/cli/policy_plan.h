#pragma once

#include <string>
#include <vector>

#include "cli/remote_policies.h"
#include "policy/document_diff.h"
#include "policy/model.h"

namespace sluice::cli {

// What would become of a server's policies if those of a file were applied: like a plan of a change.
struct ApplyPlan {
  struct Step {
    Policy after;
    std::optional<RemotePolicy> before;  // none: it is new
  };
  std::vector<Step> steps;  // in the file's order
  std::size_t unchanged = 0;

  bool is_empty() const { return steps.empty(); }
};

ApplyPlan make_plan(const std::vector<Policy>& wanted, const std::vector<RemotePolicy>& present);

// For people: "+ id" with the document, "~ id, version 3" with each field that differs, and a line that
// counts.
std::string plan_text(const ApplyPlan& plan);

// The lines of one policy that differs, indented.
std::string changes_text(const Policy& before, const Policy& after);

}  // namespace sluice::cli

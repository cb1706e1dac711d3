#pragma once

#include <optional>
#include <string>
#include <vector>

#include "policy/document_tree.h"

namespace sluice {

// One field in which two documents differ. The values are on one line each, as an author would write them.
struct FieldChange {
  std::string field;                  // "limits[burst].rate"
  std::optional<std::string> before;  // none: it is new
  std::optional<std::string> after;   // none: it is gone
  friend bool operator==(const FieldChange&, const FieldChange&) = default;
};

// What differs between two documents of a policy, in the order in which they are written (policy_writer.h).
// Maps are compared field by field, limits by their names, other lists as a whole.
std::vector<FieldChange> document_changes(const DocumentNode& before, const DocumentNode& after);

// Each change in one line: "limits[burst].rate: 100/s → 200/s", "+ owner: search-team", "- shadow: true".
std::string change_text(const FieldChange& change);

}  // namespace sluice

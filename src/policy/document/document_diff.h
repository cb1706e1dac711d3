#pragma once

#include <optional>
#include <string>
#include <vector>

#include "document/document_tree.h"

namespace sluice {

// One field in which two documents differ. Each value is on one line, as an author would write it.
struct FieldChange {
  std::string field;                  // "limits[burst].rate"
  std::optional<std::string> before;  // none: the field is new
  std::optional<std::string> after;   // none: the field was removed
  friend bool operator==(const FieldChange&, const FieldChange&) = default;
};

// The differences between two documents of a policy, in the order in which fields are written
// (policy_writer.h). Maps are compared field by field, limits by name, other lists as a whole.
std::vector<FieldChange> document_changes(const DocumentNode& before, const DocumentNode& after);

// One change on one line: "limits[burst].rate: 100/s → 200/s", "+ owner: search-team", "- shadow: true".
std::string change_text(const FieldChange& change);

}  // namespace sluice

#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "document/document_tree.h"
#include "document/problems.h"
#include "policy/model.h"

namespace sluice {

// A policy and where it was written.
struct WrittenPolicy {
  Policy policy;
  std::string file;
  int line = 0;
  std::string path;  // "policies[0]"
};

// Reads the text of one policy file, YAML or JSON, and adds its policies to `out`. The top-level field
// decides the format: `policies` is Sluice's own document, `domains` is the one in multi_rate_document.h. All
// errors are added to `problems` under the name `file`. Use `out` only if there are no problems. Never
// throws.
void parse_policies(std::string_view text, const std::string& file, std::vector<WrittenPolicy>& out,
                    Problems& problems);
// The same for a document that is already parsed.
void read_policies(const DocumentNode& tree, const std::string& file, std::vector<WrittenPolicy>& out,
                   Problems& problems);

// Reads a single policy, as the API and databases store it: either the policy's own fields at the top level,
// or a document of either format with exactly one policy. Returns no value if something is wrong. Problems
// refer to the text as `name`. A document without an id gets `id`. The version is not part of a document and
// keeps its default. Never throws.
std::optional<Policy> parse_policy(std::string_view text, const std::string& name, Problems& problems,
                                   std::string_view id = {});

// Checks that need all policies, across files: duplicate ids, two policies for the same requests, more limits
// than one check may have.
void check_together(const std::vector<WrittenPolicy>& policies, Problems& problems);

}  // namespace sluice

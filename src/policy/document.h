#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "policy/document_tree.h"
#include "policy/model.h"
#include "policy/problems.h"

namespace sluice {

// A policy and where it was written.
struct WrittenPolicy {
  Policy policy;
  std::string file;
  int line = 0;
  std::string path;  // "policies[0]"
};

// Reads the text of one policy file, YAML or JSON, and adds its policies to `out`. The top field decides:
// `policies` is Sluice's own document, `domains` the one of mr_document.h. Everything that is wrong is added
// to `problems` with `file` as the name; `out` is only to be used when there are none. Never throws.
void parse_policies(std::string_view text, const std::string& file, std::vector<WrittenPolicy>& out,
                    Problems& problems);
// The same of a document whose text has been read.
void read_policies(const DocumentNode& tree, const std::string& file, std::vector<WrittenPolicy>& out,
                   Problems& problems);

// Reads one policy by itself, as the API and databases hold it: the policy's own fields at the top, or a
// document of either kind with exactly one policy in it. No value when something is wrong; `name` is what the
// problems call the text, and `id` goes into a document that has none. The version is not part of a document
// and stays at its default. Never throws.
std::optional<Policy> parse_policy(std::string_view text, const std::string& name, Problems& problems,
                                   std::string_view id = {});

// What can only be seen with all policies side by side, those of several files included: ids used twice, two
// policies for the same requests, more limits than one check may have.
void check_together(const std::vector<WrittenPolicy>& policies, Problems& problems);

}  // namespace sluice

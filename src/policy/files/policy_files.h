#pragma once

#include <string>
#include <vector>

#include "base/secret/hash.h"
#include "document/problems.h"
#include "policy/document/policy_document.h"
#include "policy/envoy/envoy_lookup.h"

namespace sluice {

// A file that was read, or that could not be read.
struct PolicyFile {
  std::string path;
  std::string text;
};

// The policy files that `path` stands for: the file itself, or, for a directory, all *.yaml, *.yml and *.json
// files in it whose names do not start with a dot, sorted by name. A directory without any is a problem: it
// is more likely a mistake than intended.
std::vector<std::string> list_policy_files(const std::string& path, Problems& problems);

// The other files in a directory, for a message to the operator: "notes.txt", "shop.yaml.old" and 3 more.
// Empty: there are none, hidden files aside.
std::string passed_over_files(const std::string& path);

// Reads all files. A file that cannot be read, is not a regular file or is too large is a problem.
std::vector<PolicyFile> read_policy_files(const std::vector<std::string>& paths, Problems& problems);

// The contents of the files.
struct PolicySources {
  std::vector<WrittenPolicy> policies;  // including those made from the Envoy domains
  EnvoyDomains envoy_domains;
  std::vector<Problem> warnings;  // valid settings that are probably mistakes
};

// Parses all files and checks the policies together. The top-level field of a file tells its format:
// `policies` or `domains` (policy_document.h), or `domain` (envoy_document.h). Use the result only if there
// are no problems.
PolicySources parse_policy_files(const std::vector<PolicyFile>& files, Problems& problems);

// The same where Envoy domains are not supported: each one is a problem.
std::vector<WrittenPolicy> parse_plain_policy_files(const std::vector<PolicyFile>& files, Problems& problems);

// All errors that keep these files and directories from being used together; empty: they are valid. Likely
// mistakes are added to `warnings`, if given.
Problems validate_policy_files(const std::vector<std::string>& paths, bool may_deny_everyone = false,
                               std::vector<Problem>* warnings = nullptr);

}  // namespace sluice

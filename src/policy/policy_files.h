#pragma once

#include <string>
#include <vector>

#include "base/hash.h"
#include "policy/document.h"
#include "policy/envoy_lookup.h"
#include "policy/problems.h"

namespace sluice {

// A file that was read, or tried to be.
struct PolicyFile {
  std::string path;
  std::string text;
};

// The policy files that `path` stands for: itself, or, of a directory, all *.yaml, *.yml and *.json in it
// whose names don't start with a dot, sorted by name. A directory without any is a problem: it is more likely
// a mistake than a wish.
std::vector<std::string> list_policy_files(const std::string& path, Problems& problems);

// What else is in a directory, for its owner to see: "notes.txt", "shop.yaml.old" and 3 more. Empty: nothing
// is, hidden files apart.
std::string passed_over_files(const std::string& path);

// Reads them all. What can't be read, is not a regular file or is too large is a problem.
std::vector<PolicyFile> read_policy_files(const std::vector<std::string>& paths, Problems& problems);

// What the files say.
struct PolicySources {
  std::vector<WrittenPolicy> policies;  // those of the Envoy domains, too
  EnvoyDomains envoy_domains;
  std::vector<Problem> warnings;  // of what can be used, but hardly is what was meant
};

// Parses them all and looks at the policies side by side. Which document a file holds is seen by its top
// field: `policies` or `domains` (document.h), or `domain` (envoy_document.h). To be used only if there are
// no problems.
PolicySources parse_policy_files(const std::vector<PolicyFile>& files, Problems& problems);

// The same where Envoy domains cannot be served: each is a problem.
std::vector<WrittenPolicy> parse_plain_policy_files(const std::vector<PolicyFile>& files, Problems& problems);

// Everything that keeps these files and directories from being used together; nothing: they are good. What
// may be a mistake all the same goes to `warnings`, if that is given.
Problems validate_policy_files(const std::vector<std::string>& paths, bool may_deny_everyone = false,
                               std::vector<Problem>* warnings = nullptr);

}  // namespace sluice

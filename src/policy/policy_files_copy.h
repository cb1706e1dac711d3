#pragma once

#include <string>
#include <vector>

#include "base/error.h"
#include "policy/policy_files.h"

// The last good policy files, kept for a start that finds them missing or wrong.
namespace sluice {

// Where the copy of what these paths name is, in this folder. Other paths have other copies.
std::string policy_files_copy(const std::string& state_dir, const std::vector<std::string>& paths);

// Writes it, unless it says the same already; as base/sealed_file.h does. kUnavailable: that is not possible,
// or it would have more than kPolicyCopyBytesMax.
Result<void> keep_policy_files(const std::string& copy, const std::vector<std::string>& paths,
                               const std::vector<PolicyFile>& files);

// kNotFound: none was kept. kFailedPrecondition: it is damaged, or a copy of something else.
Result<std::vector<PolicyFile>> kept_policy_files(const std::string& copy,
                                                  const std::vector<std::string>& paths);

}  // namespace sluice

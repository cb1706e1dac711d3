#pragma once

#include <string>
#include <vector>

#include "base/error.h"
#include "policy/files/policy_files.h"

// A copy of the last good policy files, for a start at which the files are missing or invalid.
namespace sluice {

// The path of the copy for these policy paths. Other policy paths have other copies.
std::string policy_files_copy(const std::string& state_dir, const std::vector<std::string>& paths);

// Writes the copy, as base/secret/sealed_file.h does, unless it already has this content. kUnavailable: the
// copy cannot be written, or would be larger than kPolicyCopyBytesMax.
Result<void> keep_policy_files(const std::string& copy, const std::vector<std::string>& paths,
                               const std::vector<PolicyFile>& files);

// kNotFound: there is no copy. kFailedPrecondition: it is damaged, or a copy of other files.
Result<std::vector<PolicyFile>> kept_policy_files(const std::string& copy,
                                                  const std::vector<std::string>& paths);

}  // namespace sluice

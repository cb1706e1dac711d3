#pragma once

#include <string>
#include <vector>

#include "policy/model.h"

namespace sluice::cli {

// The policies of these files and directories. If anything is wrong with them, prints every problem to stderr
// and throws a CommandError that counts them.
std::vector<Policy> read_wanted_policies(const std::vector<std::string>& paths);

}  // namespace sluice::cli

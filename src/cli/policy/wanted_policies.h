#pragma once

#include <string>
#include <vector>

#include "policy/model.h"

namespace sluice::cli {

// Reads the policies of these files and directories. If any are invalid, prints every problem to stderr and
// throws a CommandError with their number.
std::vector<Policy> read_wanted_policies(const std::vector<std::string>& paths);

}  // namespace sluice::cli

#include "cli/policy/wanted_policies.h"

#include <fmt/format.h>

#include <cstdio>

#include "cli/command.h"
#include "policy/files/policy_files.h"

namespace sluice::cli {

std::vector<Policy> read_wanted_policies(const std::vector<std::string>& paths) {
  Problems problems;
  std::vector<WrittenPolicy> written = parse_plain_policy_files(read_policy_files(paths, problems), problems);
  for (const std::string& line : problems.texts()) fmt::print(stderr, "{}\n", line);
  if (!problems.empty())
    throw CommandError(fmt::format("{} not valid ({} problem{}); nothing was sent to the server",
                                   paths.size() == 1 ? paths.front() + " is" : "these files are",
                                   problems.count(), problems.count() == 1 ? "" : "s"));
  std::vector<Policy> policies;
  for (WrittenPolicy& each : written) policies.push_back(std::move(each.policy));
  return policies;
}

}  // namespace sluice::cli

#include "cli/identity_keeper.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <utility>

#include "cli/command.h"
#include "policy/policy_files.h"
#include "telemetry/log.h"

namespace sluice::cli {
namespace {

std::vector<control::Identity> read(const std::string& path, Problems& problems) {
  std::vector<control::Identity> identities;
  if (path.empty()) return identities;
  for (const PolicyFile& file : read_policy_files({path}, problems))
    if (problems.empty()) identities = control::parse_identities(file.text, file.path, problems);
  return identities;
}

}  // namespace

IdentityKeeper::IdentityKeeper(const std::string& path) {
  Problems problems;
  auto identities = read(path, problems);
  if (!problems.empty())
    throw CommandError(fmt::format("--identities: {}", fmt::join(problems.texts(), "; ")));
  board_.replace(std::move(identities));
}

void IdentityKeeper::reload(const std::string& path) {
  Problems found;
  auto identities = read(path, found);
  if (found.empty()) board_.replace(std::move(identities));
  std::vector<std::string> problems;
  for (const std::string& text : found.texts())
    problems.push_back(fmt::format("--identities: {}; the old ones stay in force", text));
  for (const std::string& problem : problems) log(LogLevel::kError, problem);
  const std::lock_guard lock(mutex_);
  problems_ = std::move(problems);
}

std::vector<std::string> IdentityKeeper::problems() const {
  const std::lock_guard lock(mutex_);
  return problems_;
}

}  // namespace sluice::cli

#include "server/identity_file.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <utility>

#include "policy/files/policy_files.h"
#include "server/command_error.h"
#include "telemetry/log.h"

namespace sluice::server {
namespace {

std::vector<control::Identity> read(const std::string& path, Problems& problems) {
  std::vector<control::Identity> identities;
  if (path.empty()) return identities;
  for (const PolicyFile& file : read_policy_files({path}, problems))
    if (problems.empty()) identities = control::parse_identities(file.text, file.path, problems);
  return identities;
}

}  // namespace

IdentityFile::IdentityFile(const std::string& path) {
  Problems problems;
  auto identities = read(path, problems);
  if (!problems.empty())
    throw CommandError(fmt::format("--identities: {}", fmt::join(problems.texts(), "; ")));
  registry_.replace(std::move(identities));
}

void IdentityFile::reload(const std::string& path) {
  Problems found;
  auto identities = read(path, found);
  if (found.empty()) registry_.replace(std::move(identities));
  std::vector<std::string> problems;
  for (const std::string& text : found.texts())
    problems.push_back(fmt::format("--identities: {}; keeping the previous ones", text));
  for (const std::string& problem : problems) log(LogLevel::kError, problem);
  const std::lock_guard lock(mutex_);
  problems_ = std::move(problems);
}

std::vector<std::string> IdentityFile::problems() const {
  const std::lock_guard lock(mutex_);
  return problems_;
}

}  // namespace sluice::server

#include "policy/files/policy_files.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <filesystem>
#include <iterator>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <system_error>

#include "base/file_descriptor.h"
#include "base/limits.h"
#include "base/limits/envoy_limits.h"
#include "document/literals.h"
#include "policy/warnings/denies_everyone.h"
#include "policy/warnings/policy_warnings.h"

namespace sluice {
namespace {

namespace fs = std::filesystem;

// Such as the links behind which Kubernetes keeps its ConfigMaps.
bool is_hidden(const fs::path& name) { return name.string().starts_with('.'); }

bool is_policy_file_name(const fs::path& name) {
  constexpr std::array<std::string_view, 3> kEndings = {".yaml", ".yml", ".json"};
  return !is_hidden(name) && std::ranges::find(kEndings, name.extension().string()) != kEndings.end();
}

std::string why(int error) { return "can't be read: " + std::generic_category().message(error); }

// The bytes of the file; otherwise an error message.
std::expected<std::string, std::string> read_file(const std::string& path) {
  // O_NONBLOCK: a pipe without a writer must not block us.
  const FileDescriptor file(open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  struct stat info;
  if (file.get() < 0 || fstat(file.get(), &info) != 0) return std::unexpected(why(errno));
  if (!S_ISREG(info.st_mode)) return std::unexpected("is neither a regular file nor a directory");
  const auto too_large = [] {
    return std::unexpected("the file is larger than " + std::to_string(kPolicyFileBytesMax >> 20) + " MiB");
  };
  if (info.st_size > static_cast<off_t>(kPolicyFileBytesMax)) return too_large();
  std::string text;
  std::array<char, 1 << 16> chunk;
  for (;;) {
    const ssize_t got = read(file.get(), chunk.data(), chunk.size());
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return std::unexpected(why(errno));
    if (got == 0) return text;
    text.append(chunk.data(), static_cast<std::size_t>(got));
    if (text.size() > kPolicyFileBytesMax) return too_large();  // it grew while we read
  }
}

void read_plain(const DocumentNode& tree, const PolicyFile& file, std::set<std::string>& warned_of,
                PolicySources& sources, Problems& problems) {
  const std::size_t first = sources.policies.size();
  read_policies(tree, file.path, sources.policies, problems);
  std::ranges::move(warnings_of(std::span(sources.policies).subspan(first), warned_of),
                    std::back_inserter(sources.warnings));
}

}  // namespace

std::vector<std::string> list_policy_files(const std::string& path, Problems& problems) {
  std::error_code error;
  if (!fs::is_directory(path, error)) return {path};
  std::vector<std::string> files;
  for (fs::directory_iterator at(path, error), end; !error && at != end; at.increment(error)) {
    if (!is_policy_file_name(at->path().filename())) continue;
    if (files.size() == kPolicyFilesMax) {
      problems.add({path, 0, "", "has more than " + std::to_string(kPolicyFilesMax) + " policy files"});
      break;
    }
    files.push_back(at->path().string());
  }
  if (error)
    problems.add({path, 0, "", why(error.value())});
  else if (files.empty())
    problems.add({path, 0, "", "has no policy files (*.yaml, *.yml, *.json)"});
  std::ranges::sort(files);
  return files;
}

std::string passed_over_files(const std::string& path) {
  std::error_code error;
  if (!fs::is_directory(path, error)) return {};
  std::vector<std::string> names;
  for (fs::directory_iterator at(path, error), end; !error && at != end; at.increment(error)) {
    const fs::path name = at->path().filename();
    if (!is_hidden(name) && !is_policy_file_name(name)) names.push_back(name.string());
  }
  constexpr std::size_t kShown = 5;
  std::ranges::sort(names);
  std::string text;
  for (std::size_t i = 0; i < std::min(names.size(), kShown); ++i)
    text += (text.empty() ? "" : ", ") + shown(names[i]);
  if (names.size() > kShown) text += " and " + std::to_string(names.size() - kShown) + " more";
  return text;
}

std::vector<PolicyFile> read_policy_files(const std::vector<std::string>& paths, Problems& problems) {
  std::vector<PolicyFile> files;
  for (const std::string& path : paths) {
    for (const std::string& file : list_policy_files(path, problems)) {
      if (auto text = read_file(file))
        files.push_back({file, std::move(*text)});
      else
        problems.add({file, 0, "", text.error()});
    }
  }
  return files;
}

PolicySources parse_policy_files(const std::vector<PolicyFile>& files, Problems& problems) {
  PolicySources sources;
  std::map<std::string, std::string> file_of;  // by domain
  std::set<std::string> warned_of;             // dimensions
  for (const PolicyFile& file : files) {
    const auto tree = parse_document_tree(file.text, file.path, problems, kEnvoyDocumentDepthMax);
    if (!tree) continue;
    if (!is_envoy_document(*tree)) {
      if (const auto line = line_too_deep(*tree, kDocumentDepthMax))
        problems.add({file.path, *line, "", too_deep(kDocumentDepthMax)});
      else
        read_plain(*tree, file, warned_of, sources, problems);
      continue;
    }
    std::vector<Problem> unused_warnings;  // they are about what import-envoy leaves out
    const auto domain = read_envoy_document(*tree, file.path, problems, unused_warnings);
    if (!domain) continue;
    if (const auto [other, fresh] = file_of.emplace(domain->name, file.path); !fresh) {
      problems.add(same_envoy_domain(*domain, other->second));
      continue;
    }
    sources.envoy_domains.emplace(domain->name,
                                  std::make_shared<const EnvoyLookup>(*domain, sources.policies, problems));
  }
  check_together(sources.policies, problems);
  return sources;
}

std::vector<WrittenPolicy> parse_plain_policy_files(const std::vector<PolicyFile>& files,
                                                    Problems& problems) {
  PolicySources sources = parse_policy_files(files, problems);
  for (const auto& [name, domain] : sources.envoy_domains)
    problems.add({"", 0, "domain",
                  shown(name) +
                      " is an envoyproxy/ratelimit domain, which only `sluice serve --policies` accepts "
                      "as it is; convert it with `sluice policy import-envoy`"});
  return std::move(sources.policies);
}

Problems validate_policy_files(const std::vector<std::string>& paths, bool may_deny_everyone,
                               std::vector<Problem>* warnings) {
  Problems problems;
  PolicySources sources = parse_policy_files(read_policy_files(paths, problems), problems);
  if (warnings) *warnings = std::move(sources.warnings);
  if (!may_deny_everyone)
    refuse_denying_everyone(sources.policies, "add --confirm-denies-everyone", problems);
  return problems;
}

}  // namespace sluice

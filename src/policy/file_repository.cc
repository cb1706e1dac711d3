#include "policy/file_repository.h"

#include <algorithm>
#include <string_view>
#include <utility>

#include "policy/denies_everyone.h"

namespace sluice {
namespace {

// A fingerprint of everything that a load depends on.
KeyHash digest(const std::vector<PolicyFile>& files, const Problems& problems) {
  static const KeyHasher hasher = KeyHasher::from_text("sluice policy files");
  std::string bytes;
  const auto add = [&](std::string_view part) {
    const KeyHash hash = hasher(part);
    bytes.append(reinterpret_cast<const char*>(&hash), sizeof hash);
  };
  for (const PolicyFile& file : files) {
    add(file.path);
    add(file.text);
  }
  for (const std::string& problem : problems.texts()) add(problem);
  return hasher(bytes);
}

std::string counted(std::size_t count, const std::string& one, const std::string& many) {
  return std::to_string(count) + ' ' + (count == 1 ? one : many);
}

}  // namespace

FileRepository::FileRepository(std::vector<std::string> paths, PolicyCatalog& catalog, Options options)
    : paths_(std::move(paths)), catalog_(catalog), options_(std::move(options)) {
  // First watch, then load: no change falls in between.
  watcher_ = std::make_unique<FileWatcher>(paths_, options_.watch, [this] { load(false); });
  load(true);
}

void FileRepository::reload() { load(true); }

RepositoryStatus FileRepository::status() const {
  const std::lock_guard lock(status_mutex_);
  return status_;
}

void FileRepository::load(bool although_unchanged) {
  const std::lock_guard lock(loading_);
  Problems problems;
  const auto files = read_policy_files(paths_, problems);
  const KeyHash read_now = digest(files, problems);
  if (!although_unchanged && read_now == read_last_) return;
  read_last_ = read_now;
  for (const std::string& path : paths_)
    if (const std::string names = passed_over_files(path); !names.empty())
      options_.log(
          false,
          std::string(path).append(": not read, since only *.yaml, *.yml and *.json are: ").append(names));
  auto sources = parse_policy_files(files, problems);
  if (!options_.may_deny_everyone)
    refuse_denying_everyone(sources.policies, "start with --allow-deny-everyone", problems);
  for (const Problem& warning : sources.warnings) options_.log(false, "warning: " + warning.text());
  if (problems.empty())
    succeed(files, std::move(sources));
  else
    fail(problems);
}

void FileRepository::succeed(const std::vector<PolicyFile>& files, PolicySources sources) {
  const auto before = catalog_.current();
  std::vector<Policy> policies;
  std::unordered_set<std::string> ids;
  std::size_t changed = 0;
  for (WrittenPolicy& each : sources.policies) {
    Policy& policy = policies.emplace_back(std::move(each.policy));
    changed += give_version(policy, *before);
    ids.insert(policy.id);
  }
  if (auto taken = catalog_.replace_files(std::move(policies), std::move(sources.envoy_domains)); !taken) {
    Problems problems;
    problems.add({"", 0, taken.error().field, taken.error().message});
    return fail(problems);
  }
  ++loads_;
  remember_withdrawn(*before, ids);
  ids_ = std::move(ids);
  {
    const std::lock_guard lock(status_mutex_);
    status_.loaded = true;
    ++status_.reloads;
    status_.problems.clear();
  }
  options_.log(false, "loaded " + counted(ids_.size(), "policy", "policies") + " from " +
                          counted(files.size(), "file", "files") + ", " + std::to_string(changed) +
                          " new or changed");
}

bool FileRepository::give_version(Policy& policy, const Snapshot& before) const {
  const Policy* known = nullptr;
  const bool in_force = ids_.contains(policy.id);
  if (in_force)
    known = &before.find(policy.id)->source;
  else if (const auto found = withdrawn_.find(policy.id); found != withdrawn_.end())
    known = &found->second.policy;
  policy.version = known ? known->version : forgotten_version_ + 1;
  if (known && policy != *known) ++policy.version;
  return !in_force || policy.version != known->version;
}

void FileRepository::remember_withdrawn(const Snapshot& before, const std::unordered_set<std::string>& ids) {
  for (const std::string& id : ids) withdrawn_.erase(id);
  for (const std::string& id : ids_)
    if (!ids.contains(id)) withdrawn_[id] = {before.find(id)->source, loads_};
  if (withdrawn_.size() > options_.withdrawn_max)
    forget_the_oldest(withdrawn_.size() - options_.withdrawn_max);
}

void FileRepository::forget_the_oldest(std::size_t count) {
  std::vector<std::pair<std::uint64_t, std::string>> by_age;
  for (const auto& [id, withdrawn] : withdrawn_) by_age.emplace_back(withdrawn.since, id);
  std::ranges::sort(by_age);
  for (std::size_t i = 0; i < count; ++i) {
    const auto oldest = withdrawn_.find(by_age[i].second);
    forgotten_version_ = std::max(forgotten_version_, oldest->second.policy.version);
    withdrawn_.erase(oldest);
  }
}

void FileRepository::fail(const Problems& problems) {
  bool was_loaded;
  {
    const std::lock_guard lock(status_mutex_);
    was_loaded = status_.loaded;
    ++status_.failures;
    status_.problems = problems.texts();
  }
  for (const std::string& problem : problems.texts()) options_.log(true, problem);
  options_.log(true, was_loaded ? "the policy files were refused; the last good policies stay in force"
                                : "the policy files were refused; there are no policies in force");
}

}  // namespace sluice

#include "policy/file_repository.h"

#include <algorithm>
#include <cassert>
#include <string_view>
#include <utility>

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

FileRepository::FileRepository(std::vector<std::string> paths, ParamsTable& params, PolicyBoard& board,
                               Options options)
    : paths_(std::move(paths)), params_(params), board_(board), options_(std::move(options)) {
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
  auto written = parse_policy_files(files, problems);
  if (problems.empty())
    succeed(files, std::move(written));
  else
    fail(problems);
}

void FileRepository::succeed(const std::vector<PolicyFile>& files, std::vector<WrittenPolicy> written) {
  std::vector<Policy> policies;
  std::size_t changed = 0;
  for (WrittenPolicy& each : written) {
    Policy& policy = policies.emplace_back(std::move(each.policy));
    give_version(policy);
    const auto known = known_.find(policy.id);
    if (known == known_.end() || known->second.policy.version != policy.version) ++changed;
  }
  auto snapshot = Snapshot::compile(std::move(policies), params_,
                                    {.before = board_.current().get(), .nodes = options_.nodes});
  if (!snapshot) {
    Problems problems;
    problems.add({"", 0, snapshot.error().field, snapshot.error().message});
    return fail(problems);
  }
  remember((*snapshot)->policies());
  const std::size_t count = (*snapshot)->policies().size();
  board_.publish(std::move(*snapshot));
  {
    const std::lock_guard lock(status_mutex_);
    status_.loaded = true;
    ++status_.reloads;
    status_.problems.clear();
  }
  options_.log(false, "loaded " + counted(count, "policy", "policies") + " from " +
                          counted(files.size(), "file", "files") + ", " + std::to_string(changed) +
                          " new or changed");
}

void FileRepository::give_version(Policy& policy) const {
  const auto known = known_.find(policy.id);
  if (known == known_.end()) {
    policy.version = forgotten_version_ + 1;
    return;
  }
  policy.version = known->second.policy.version;
  if (policy != known->second.policy) ++policy.version;
}

void FileRepository::remember(std::span<const CompiledPolicy> in_force) {
  ++loads_;
  for (const CompiledPolicy& each : in_force) {
    Known& known = known_[each.source.id];
    if (known.last_load == 0 || known.policy.version != each.source.version) known.policy = each.source;
    known.last_load = loads_;
  }
  const std::size_t withdrawn = known_.size() - in_force.size();
  if (withdrawn > options_.withdrawn_max) forget_the_oldest(withdrawn - options_.withdrawn_max);
}

// REQUIRES: at least `count` known policies are not in force; those come first in the order of last_load.
void FileRepository::forget_the_oldest(std::size_t count) {
  std::vector<std::pair<std::uint64_t, std::string_view>> by_age;
  for (const auto& [id, known] : known_)
    if (known.last_load != loads_) by_age.emplace_back(known.last_load, id);
  assert(count <= by_age.size());
  std::ranges::sort(by_age);
  for (std::size_t i = 0; i < count; ++i) {
    const auto known = known_.find(std::string(by_age[i].second));
    forgotten_version_ = std::max(forgotten_version_, known->second.policy.version);
    known_.erase(known);
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

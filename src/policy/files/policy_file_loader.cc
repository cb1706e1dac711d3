#include "policy/files/policy_file_loader.h"

#include <algorithm>
#include <filesystem>
#include <set>
#include <string_view>
#include <utility>

#include "base/limits/control_limits.h"
#include "base/secret/sealed_file.h"
#include "base/try.h"
#include "policy/change_words.h"
#include "policy/warnings/denies_everyone.h"

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

// Where in the files the error is.
Problem problem_of(const Error& error, const PolicySources& sources) {
  if (!error.item) return {"", 0, error.field, error.message};
  const WrittenPolicy& policy = sources.policies[*error.item];
  return {policy.file, policy.line, policy.path + (error.field.empty() ? "" : '.' + error.field),
          error.message};
}

// The copy of the last good policy files, for a start at which the files are missing or invalid.

// All paths as one text. Absolute, because they mean other files in another working directory.
std::string joined(const std::vector<std::string>& paths) {
  std::string text;
  std::error_code failed;
  for (const std::string& path : paths) append_field(text, std::filesystem::absolute(path, failed).string());
  return text;
}

// The path of the copy for these policy paths. Other policy paths have other copies.
std::string policy_files_copy(const std::string& state_dir, const std::vector<std::string>& paths) {
  return state_dir + "/files-" + short_digest(joined(paths));
}

// Writes the copy, as base/secret/sealed_file.h does, unless it already has this content. kUnavailable: the
// copy cannot be written, or would be larger than kPolicyCopyBytesMax.
Result<void> keep_policy_files(const std::string& copy, const std::vector<std::string>& paths,
                               const std::vector<PolicyFile>& files) {
  std::string contents;
  append_field(contents, joined(paths));
  for (const PolicyFile& file : files) {
    append_field(contents, file.path);
    append_field(contents, file.text);
  }
  if (contents.size() > kPolicyCopyBytesMax)
    return std::unexpected(
        Error{ErrorCode::kUnavailable,
              "it would be larger than " + std::to_string(kPolicyCopyBytesMax >> 20) + " MiB", ""});
  if (read_sealed_file(copy, kPolicyCopyBytesMax) == contents) return {};
  return write_sealed_file(copy, contents);
}

// kNotFound: there is no copy. kFailedPrecondition: it is damaged, or a copy of other files.
Result<std::vector<PolicyFile>> kept_policy_files(const std::string& copy,
                                                  const std::vector<std::string>& paths) {
  const std::string contents = SLUICE_TRY(read_sealed_file(copy, kPolicyCopyBytesMax));
  FieldReader fields(contents);
  const auto of = fields.next();
  std::vector<PolicyFile> files;
  while (of && !fields.at_end()) {
    const auto path = fields.next(), text = fields.next();
    if (!path || !text) break;
    files.push_back({std::string(*path), std::string(*text)});
  }
  if (!of || *of != joined(paths) || !fields.at_end())
    return std::unexpected(Error{ErrorCode::kFailedPrecondition, copy + ": it is a copy of other files", ""});
  return files;
}

}  // namespace

PolicyFileLoader::PolicyFileLoader(std::vector<std::string> paths, PolicyCatalog& catalog, Options options)
    : paths_(std::move(paths)),
      catalog_(catalog),
      options_(std::move(options)),
      copy_(options_.state_dir.empty() ? "" : policy_files_copy(options_.state_dir, paths_)) {
  // Watch first, then load, so that no change is missed in between.
  watcher_ = std::make_unique<FileWatcher>(paths_, options_.watch,
                                           [this](FileWatcher::Rest rest) { load(false, rest); });
  load(true, FileWatcher::Rest::kQuiet);
  if (!status().loaded && !copy_.empty()) take_copy();
}

void PolicyFileLoader::reload() { load(true, FileWatcher::Rest::kQuiet); }

PolicyFileStatus PolicyFileLoader::status() const {
  const Lock lock(status_mutex_);
  return status_;
}

void PolicyFileLoader::load(bool although_unchanged, FileWatcher::Rest rest) {
  const Lock lock(loading_);
  Problems problems;
  const auto files = read_policy_files(paths_, problems);
  const KeyHash read_now = digest(files, problems);
  if (!although_unchanged && read_now == read_last_) return;
  for (const std::string& path : paths_)
    if (const std::string names = passed_over_files(path); !names.empty())
      options_.log(LogEvent::kPoliciesFilesIgnored,
                   std::string(path)
                       .append(": ignored files (only *.yaml, *.yml and *.json are read): ")
                       .append(names));
  auto sources = parse_policy_files(files, problems);
  if (!options_.may_deny_everyone)
    refuse_denying_everyone(sources.policies, "start with --allow-deny-everyone", problems);
  const std::string missing =
      rest == FileWatcher::Rest::kChanging && problems.empty() ? missing_from(sources) : "";
  if (!missing.empty()) {
    problems.add(
        {"", 0, "",
         "the policy files keep changing and do not contain " + missing +
             "; they will be loaded once they stop changing; to avoid this, replace files by rename"});
  }
  for (const Problem& warning : sources.warnings)
    options_.log(LogEvent::kPoliciesWarning, "warning: " + warning.text());
  if (problems.empty())
    succeed(files, std::move(sources));
  else
    fail(problems);
  // Set only now: if memory runs out above, the same bytes are loaded again. If policies were missing, the
  // same bytes are loaded again once the files are quiet, because then they are intended.
  read_last_ = missing.empty() ? read_now : KeyHash{};
}

// Policies in force that are not in these files: "api.read and 3 more". Empty: none.
std::string PolicyFileLoader::missing_from(const PolicySources& sources) const {
  std::set<std::string_view> missing(ids_.begin(), ids_.end());
  for (const WrittenPolicy& each : sources.policies) missing.erase(each.policy.id);
  if (missing.empty()) return "";
  const std::string first(*missing.begin());
  return missing.size() == 1 ? first : first + " and " + std::to_string(missing.size() - 1) + " more";
}

Result<std::vector<std::string>> PolicyFileLoader::publish(PolicySources& sources) {
  const auto before = catalog_.current();
  std::vector<Policy> policies;
  std::unordered_set<std::string> ids;
  std::vector<std::string> changed;
  for (WrittenPolicy& each : sources.policies) {
    Policy& policy = policies.emplace_back(std::move(each.policy));
    if (give_version(policy, *before)) changed.push_back(policy.id + '#' + std::to_string(policy.version));
    ids.insert(policy.id);
  }
  const auto left_out =
      SLUICE_TRY(catalog_.replace_files(std::move(policies), std::move(sources.envoy_domains)));
  for (const auto& [id, why] : left_out) {
    std::string sentence = "policy \"";
    sentence.append(id).append("\" of the API is not in force while the files are: ").append(why);
    options_.log(LogEvent::kPoliciesLeftOut, sentence, {{"policy", id}});
  }
  ++loads_;
  remember_withdrawn(*before, ids);
  ids_ = std::move(ids);
  return changed;
}

void PolicyFileLoader::succeed(const std::vector<PolicyFile>& files, PolicySources sources) {
  const auto changed = publish(sources);
  if (!changed) {
    Problems problems;
    problems.add(problem_of(changed.error(), sources));
    return fail(problems);
  }
  {
    const Lock lock(status_mutex_);
    status_.loaded = true;
    status_.from_copy = false;
    ++status_.reloads;
    status_.problems.clear();
  }
  options_.log(LogEvent::kPoliciesLoaded, "loaded " + counted(ids_.size(), "policy", "policies") + " from " +
                                              counted(files.size(), "file", "files") + ", " +
                                              std::to_string(changed->size()) + " new or changed" +
                                              listed(*changed));
  if (!copy_.empty()) keep_copy(files);
}

void PolicyFileLoader::keep_copy(const std::vector<PolicyFile>& files) const {
  if (const auto kept = keep_policy_files(copy_, paths_, files); !kept)
    options_.log(LogEvent::kPoliciesCopyFailed,
                 "cannot save a copy of the policy files for the next start (" + kept.error().message +
                     "); set a folder with --state-dir");
}

void PolicyFileLoader::take_copy() {
  const Lock lock(loading_);
  if (status().loaded) return;  // the files were fixed meanwhile
  const auto files = kept_policy_files(copy_, paths_);
  if (!files) {
    if (files.error().code != ErrorCode::kNotFound)
      options_.log(LogEvent::kPoliciesCopyFailed,
                   "the copy of the policy files cannot be used: " + files.error().message);
    return;
  }
  Problems problems;
  auto sources = parse_policy_files(*files, problems);
  if (const auto taken = problems.empty() ? publish(sources) : std::vector<std::string>();
      !taken || !problems.empty()) {
    options_.log(LogEvent::kPoliciesCopyFailed,
                 "the copy of the policy files cannot be used: " +
                     (taken ? problems.first_error().message : taken.error().message));
    return;
  }
  const std::string sentence = "the policy files are invalid; the last good copy, " + copy_ +
                               ", is in force instead, with " + counted(ids_.size(), "policy", "policies");
  {
    const Lock status_lock(status_mutex_);
    status_.from_copy = true;
    status_.problems.push_back(sentence);
  }
  options_.log(LogEvent::kPoliciesCopyUsed, sentence);
}

bool PolicyFileLoader::give_version(Policy& policy, const Snapshot& before) const {
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

void PolicyFileLoader::remember_withdrawn(const Snapshot& before,
                                          const std::unordered_set<std::string>& ids) {
  for (const std::string& id : ids) withdrawn_.erase(id);
  for (const std::string& id : ids_)
    if (!ids.contains(id)) withdrawn_[id] = {before.find(id)->source, loads_};
  if (withdrawn_.size() > options_.withdrawn_max)
    forget_the_oldest(withdrawn_.size() - options_.withdrawn_max);
}

void PolicyFileLoader::forget_the_oldest(std::size_t count) {
  std::vector<std::pair<std::uint64_t, std::string>> by_age;
  for (const auto& [id, withdrawn] : withdrawn_) by_age.emplace_back(withdrawn.since, id);
  std::ranges::sort(by_age);
  for (std::size_t i = 0; i < count; ++i) {
    const auto oldest = withdrawn_.find(by_age[i].second);
    forgotten_version_ = std::max(forgotten_version_, oldest->second.policy.version);
    withdrawn_.erase(oldest);
  }
}

void PolicyFileLoader::fail(const Problems& problems) {
  bool was_loaded;
  {
    const Lock lock(status_mutex_);
    was_loaded = status_.loaded || status_.from_copy;
    ++status_.failures;
    status_.problems = problems.texts();
  }
  for (const std::string& problem : problems.texts()) options_.log(LogEvent::kPoliciesRefused, problem);
  options_.log(LogEvent::kPoliciesRefused,
               was_loaded ? "the policy files are invalid; the last good policies stay in force"
                          : "the policy files are invalid");
}

}  // namespace sluice

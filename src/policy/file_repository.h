#pragma once

#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "base/hash.h"
#include "base/limits.h"
#include "policy/catalog.h"
#include "policy/file_watcher.h"
#include "policy/policy_files.h"
#include "policy/repository.h"

namespace sluice {

// Policies from files and directories, read when made and whenever they change. Thread-safe.
//
// All files are one whole: either everything in them is good and becomes the new snapshot, or the last good
// one stays in force and status() says why. A policy's version starts at 1 and grows by one each time its
// content changes; a version number never means two things. Policies that were withdrawn are remembered for
// that, in case they come back, but not without end: when the oldest are forgotten, new ids start above the
// highest version forgotten.
//
// Files that are being written all the time are read now and then nevertheless, but not if that would take a
// policy out of force: it may only be half-written. Who replaces a file by rename never meets that.
//
// What was good is also copied to a file of the state folder. If the files are missing or wrong when it is
// made, that copy comes into force instead, which status() says; it belongs to these very paths.
//
//   FileRepository policies({"policies.yaml"}, catalog, {.log = log_line});
//   const RepositoryStatus status = policies.status();
//   if (!status.loaded && !status.from_copy) refuse_to_start(status.problems);
class FileRepository final : public PolicyRepository {
 public:
  struct Options {
    // One sentence each; `is_problem` tells bad news from good. Called from the thread that loads.
    std::function<void(bool is_problem, const std::string& sentence)> log = [](bool, const std::string&) {};
    FileWatcher::Options watch;
    std::size_t withdrawn_max = kWithdrawnPoliciesMax;
    bool may_deny_everyone = false;  // else files with such a policy are refused
    std::string state_dir;           // for the last good copy; empty: none is kept
  };

  // REQUIRES: catalog outlives it.
  FileRepository(std::vector<std::string> paths, PolicyCatalog& catalog, Options options);

  // Reads the files now, in the calling thread; that may take a while, so not from an event loop.
  void reload() override;
  RepositoryStatus status() const override;

 private:
  // A policy that was in force.
  struct Withdrawn {
    Policy policy;
    std::uint64_t since = 0;  // the load that took it away
  };

  void load(bool although_unchanged, FileWatcher::Rest rest);
  std::string missing_from(const PolicySources& sources) const;
  void succeed(const std::vector<PolicyFile>& files, PolicySources sources);
  void fail(const Problems& problems);
  // Brings them into force; returns those that are new or have changed: "api.read#2".
  Result<std::vector<std::string>> publish(PolicySources sources);
  void keep_copy(const std::vector<PolicyFile>& files) const;
  void take_copy();
  // True: the policy is new or has changed.
  bool give_version(Policy& policy, const Snapshot& before) const;
  void remember_withdrawn(const Snapshot& before, const std::unordered_set<std::string>& ids);
  void forget_the_oldest(std::size_t count);

  const std::vector<std::string> paths_;
  PolicyCatalog& catalog_;
  const Options options_;
  const std::string copy_;  // the file; empty: none

  std::mutex loading_;                   // one load at a time; status() need not wait for it
  KeyHash read_last_;                    // what the latest load saw, good or bad; guarded by loading_
  std::unordered_set<std::string> ids_;  // in the files now; guarded by loading_
  std::unordered_map<std::string, Withdrawn> withdrawn_;  // by id, up to withdrawn_max; guarded by loading_
  std::int64_t forgotten_version_ = 0;  // the highest of all policies forgotten; guarded by loading_
  std::uint64_t loads_ = 0;             // good ones; guarded by loading_

  mutable std::mutex status_mutex_;
  RepositoryStatus status_;  // guarded by status_mutex_

  std::unique_ptr<FileWatcher> watcher_;  // last: its thread must stop before the rest goes
};

}  // namespace sluice

#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "base/limits.h"
#include "base/log/log_event.h"
#include "base/mutex.h"
#include "base/secret/hash.h"
#include "policy/files/file_watcher.h"
#include "policy/files/policy_files.h"
#include "policy/snapshot/catalog.h"

namespace sluice {

// The state of a PolicyFileLoader, for /readyz, metrics and logs.
struct PolicyFileStatus {
  bool loaded = false;                // has published a snapshot at least once
  bool from_copy = false;             // the policies in force come from the last good copy
  std::uint64_t reloads = 0;          // successful ones
  std::uint64_t failures = 0;         // refused documents; the last good one stayed in force
  std::vector<std::string> problems;  // current errors, a sentence each; empty: none
};

// Loads policies from files and directories, on construction and whenever they change. Thread-safe.
//
// All files are loaded together: either all of them are valid and become the new snapshot, or the last good
// snapshot stays in force and status() says why. A policy's version starts at 1 and grows by one each time
// its content changes; a version number never stands for two contents. Withdrawn policies are remembered for
// this, in case they come back, but only a bounded number: when the oldest are forgotten, new ids start above
// the highest forgotten version.
//
// Files that are written continuously are still read from time to time, but not if that would remove a
// policy: the file may be half-written. Replacing a file by rename avoids this.
//
// The last good content is also copied to a file in the state folder. If the files are missing or invalid on
// construction, the copy comes into force instead and status() says so. The copy is valid only for the same
// paths.
//
//   PolicyFileLoader policies({"policies.yaml"}, catalog, {.log = log_writer()});
//   const PolicyFileStatus status = policies.status();
//   if (!status.loaded && !status.from_copy) refuse_to_start(status.problems);
class PolicyFileLoader {
 public:
  struct Options {
    // Receives one sentence per event. `is_problem` is true for errors and warnings. Called on the thread
    // that loads.
    EventLog log = {};
    FileWatcher::Options watch;
    std::size_t withdrawn_max = kWithdrawnPoliciesMax;
    bool may_deny_everyone = false;  // false: files with a policy that denies everyone are refused
    std::string state_dir;           // for the last good copy; empty: none is kept
  };

  // REQUIRES: catalog outlives it.
  PolicyFileLoader(std::vector<std::string> paths, PolicyCatalog& catalog, Options options);

  // Reads the files now, on the calling thread. This may take a while, so do not call it from an event loop.
  void reload();
  PolicyFileStatus status() const;

 private:
  // A policy that was in force.
  struct Withdrawn {
    Policy policy;
    std::uint64_t since = 0;  // the load that removed it
  };

  void load(bool although_unchanged, FileWatcher::Rest rest);
  std::string missing_from(const PolicySources& sources) const SLUICE_REQUIRES(loading_);
  void succeed(const std::vector<PolicyFile>& files, PolicySources sources) SLUICE_REQUIRES(loading_);
  void fail(const Problems& problems);
  // Puts the policies into force; returns those that are new or have changed: "api.read#2".
  // Takes the policies out of `sources` and leaves their places.
  Result<std::vector<std::string>> publish(PolicySources& sources) SLUICE_REQUIRES(loading_);
  void keep_copy(const std::vector<PolicyFile>& files) const;
  void take_copy();
  // True: the policy is new or has changed.
  bool give_version(Policy& policy, const Snapshot& before) const SLUICE_REQUIRES(loading_);
  void remember_withdrawn(const Snapshot& before, const std::unordered_set<std::string>& ids)
      SLUICE_REQUIRES(loading_);
  void forget_the_oldest(std::size_t count) SLUICE_REQUIRES(loading_);

  const std::vector<std::string> paths_;
  PolicyCatalog& catalog_;
  const Options options_;
  const std::string copy_;  // the file; empty: none

  Mutex loading_;                                  // one load at a time; status() does not wait for it
  KeyHash read_last_ SLUICE_GUARDED_BY(loading_);  // what the latest load read, valid or not
  std::unordered_set<std::string> ids_ SLUICE_GUARDED_BY(loading_);                   // now in the files
  std::unordered_map<std::string, Withdrawn> withdrawn_ SLUICE_GUARDED_BY(loading_);  // up to withdrawn_max
  std::int64_t forgotten_version_ SLUICE_GUARDED_BY(loading_) = 0;  // the highest of forgotten policies
  std::uint64_t loads_ SLUICE_GUARDED_BY(loading_) = 0;             // successful ones

  mutable Mutex status_mutex_;
  PolicyFileStatus status_ SLUICE_GUARDED_BY(status_mutex_);

  std::unique_ptr<FileWatcher> watcher_;  // last: its thread must stop before the other members are destroyed
};

}  // namespace sluice

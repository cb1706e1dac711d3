#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "policy/snapshot/snapshot.h"

namespace sluice {

// What it means if no policy in force matches a request.
enum class Unmatched : std::uint8_t {
  kNoPolicy,       // no policy is meant for it: it is allowed
  kUnknownOpen,    // a policy may exist that is not loaded yet: it is allowed, and the answer says so
  kUnknownClosed,  // the same, but it is denied
};

// Holds the snapshot in force. Thread-safe. Readers keep their own pointer and compare `generation()`, one
// relaxed load, to see whether theirs is still the newest.
class SnapshotPublisher {
 public:
  SnapshotPublisher();  // starts with an empty snapshot, generation 0
  std::uint64_t generation() const { return generation_.load(std::memory_order_acquire); }
  std::shared_ptr<const Snapshot> current() const;
  void publish(std::shared_ptr<const Snapshot> snapshot);

  // kNoPolicy until say_unmatched() reports that policies are missing. A change starts a new generation, so
  // that readers that cached "nothing matched" look again.
  Unmatched unmatched() const { return unmatched_.load(std::memory_order_acquire); }
  void say_unmatched(Unmatched unmatched);

 private:
  mutable std::mutex mutex_;
  std::shared_ptr<const Snapshot> current_;  // guarded by mutex_
  std::atomic<std::uint64_t> generation_{0};
  std::atomic<Unmatched> unmatched_{Unmatched::kNoPolicy};
};

// The state of a repository, for /readyz, metrics and logs.
struct RepositoryStatus {
  bool loaded = false;                // has published a snapshot at least once
  bool from_copy = false;             // the policies in force come from the last good copy
  std::uint64_t reloads = 0;          // successful ones
  std::uint64_t failures = 0;         // refused documents; the last good one stayed in force
  std::vector<std::string> problems;  // current errors, a sentence each; empty: none
};

// A source of policies. A repository publishes snapshots to a SnapshotPublisher whenever they change. It
// reports policies that it cannot read or validate, and leaves the last good snapshot in force. Thread-safe.
class PolicyRepository {
 public:
  virtual ~PolicyRepository() = default;
  virtual void reload() = 0;  // now, e.g. on SIGHUP
  virtual RepositoryStatus status() const = 0;
};

}  // namespace sluice

#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "policy/snapshot.h"

namespace sluice {

// What it means that no policy in force is for a request.
enum class Unmatched : std::uint8_t {
  kNoPolicy,       // nothing is said about it: it is allowed
  kUnknownOpen,    // a policy may be for it that we don't know yet: it is allowed meanwhile, and told so
  kUnknownClosed,  // the same, and it is denied
};

// The place where the snapshot in force hangs. Thread-safe. Readers keep their own pointer and look at
// `generation()`, one relaxed load, to see whether it is still the newest.
class PolicyBoard {
 public:
  PolicyBoard();  // starts with an empty snapshot, generation 0
  std::uint64_t generation() const { return generation_.load(std::memory_order_acquire); }
  std::shared_ptr<const Snapshot> current() const;
  void publish(std::shared_ptr<const Snapshot> snapshot);

  // kNoPolicy until somebody says that policies are missing. A new word is a new generation: who remembers
  // that nothing matched looks again.
  Unmatched unmatched() const { return unmatched_.load(std::memory_order_acquire); }
  void say_unmatched(Unmatched unmatched);

 private:
  mutable std::mutex mutex_;
  std::shared_ptr<const Snapshot> current_;  // guarded by mutex_
  std::atomic<std::uint64_t> generation_{0};
  std::atomic<Unmatched> unmatched_{Unmatched::kNoPolicy};
};

// How a repository is doing, for /readyz, metrics and logs.
struct RepositoryStatus {
  bool loaded = false;                // has published a snapshot at least once
  bool from_copy = false;             // what is in force comes from the last good copy instead
  std::uint64_t reloads = 0;          // successful ones
  std::uint64_t failures = 0;         // refused documents; the last good one stayed in force
  std::vector<std::string> problems;  // what is wrong now, each a sentence; empty: nothing
};

// Where policies come from. A repository publishes snapshots to a PolicyBoard whenever they change; what it
// cannot read or validate it reports and leaves the last good snapshot in force. Thread-safe.
class PolicyRepository {
 public:
  virtual ~PolicyRepository() = default;
  virtual void reload() = 0;  // now, e.g. on SIGHUP
  virtual RepositoryStatus status() const = 0;
};

}  // namespace sluice

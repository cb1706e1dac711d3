#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/mutex.h"
#include "base/published.h"
#include "policy/snapshot/snapshot.h"

namespace sluice {

// What it means if no policy in force matches a request.
enum class Unmatched : std::uint8_t {
  kNoPolicy,       // no policy is meant for it: it is allowed
  kUnknownOpen,    // a policy may exist that is not loaded yet: it is allowed, and the answer says so
  kUnknownClosed,  // the same, but it is denied
};

// What decides checks at one moment. A plain value, published as a whole.
struct PoliciesInForce {
  std::shared_ptr<const Snapshot> snapshot;
  Unmatched unmatched = Unmatched::kNoPolicy;
};

// Holds the policies in force. Thread-safe. Threads that decide checks read them through a PublishedReader.
class SnapshotPublisher {
 public:
  SnapshotPublisher();  // starts with an empty snapshot, generation 0

  const Published<PoliciesInForce>& in_force() const { return in_force_; }
  std::uint64_t generation() const { return in_force_.generation(); }
  std::shared_ptr<const Snapshot> current() const { return in_force_.current()->snapshot; }
  Unmatched unmatched() const { return in_force_.current()->unmatched; }

  void publish(std::shared_ptr<const Snapshot> snapshot);
  // kNoPolicy until this reports that policies are missing. It begins a new generation, so that readers that
  // cached "nothing matched" match again.
  void say_unmatched(Unmatched unmatched);

 private:
  Mutex publishing_;  // a change of one part keeps the other
  Published<PoliciesInForce> in_force_;
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

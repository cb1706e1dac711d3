#pragma once

#include <cstdint>
#include <memory>

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

}  // namespace sluice

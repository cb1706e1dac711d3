#include "policy/snapshot/snapshot_publisher.h"

#include <utility>

namespace sluice {

SnapshotPublisher::SnapshotPublisher()
    : in_force_(std::make_shared<const PoliciesInForce>(PoliciesInForce{.snapshot = Snapshot::empty()})) {}

void SnapshotPublisher::publish(std::shared_ptr<const Snapshot> snapshot) {
  const Lock lock(publishing_);
  in_force_.publish(
      std::make_shared<const PoliciesInForce>(PoliciesInForce{std::move(snapshot), unmatched()}));
}

void SnapshotPublisher::say_unmatched(Unmatched unmatched) {
  const Lock lock(publishing_);
  in_force_.publish(std::make_shared<const PoliciesInForce>(PoliciesInForce{current(), unmatched}));
}

}  // namespace sluice

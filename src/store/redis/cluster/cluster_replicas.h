#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "redis/cluster/cluster_slots.h"
#include "store/redis/cluster/cluster_nodes.h"
#include "store/redis/replica/replica_looks.h"

namespace sluice {

// The replicas of a cluster that answer looks: one for each master, chosen at random so that clients spread.
// Belongs to one event loop's thread.
class ClusterReplicas {
 public:
  using Make = std::function<std::unique_ptr<ReplicaLooks>(const redis::Endpoint& replica)>;

  ClusterReplicas(Make make, RedisBackend::Random random)
      : make_(std::move(make)), random_(std::move(random)) {}

  // Takes over a new map. A replica that still has the same master stays, unless it fails and there is
  // another.
  void adopt(const redis::SlotMap& map);

  // Whether a replica of this node takes the call; see ReplicaLooks::take().
  bool take(const ClusterNodes::Node& master, StoreCall& call);

  void tick(std::int64_t now_us, const ClusterNodes& nodes);
  std::int64_t next_due_us() const;

  // The sum over all replicas, removed ones included.
  ReplicaLooksStats stats() const;

 private:
  struct Chosen {
    redis::Endpoint master, replica;
    std::unique_ptr<ReplicaLooks> looks;
  };
  void choose(const redis::Endpoint& master, std::vector<redis::Endpoint> candidates,
              std::vector<Chosen>& chosen);

  const Make make_;
  const RedisBackend::Random random_;
  std::vector<Chosen> chosen_;
  std::vector<std::unique_ptr<ReplicaLooks>> leaving_;  // removed as soon as no call waits for them
  ReplicaLooksStats gone_;
};

}  // namespace sluice

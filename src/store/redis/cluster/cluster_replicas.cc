#include "store/redis/cluster/cluster_replicas.h"

#include <algorithm>
#include <utility>

namespace sluice {

void ClusterReplicas::adopt(const redis::SlotMap& map) {
  std::vector<Chosen> chosen;
  for (std::size_t master = 0; master < map.masters.size(); ++master) {
    std::vector<redis::Endpoint> candidates;
    for (std::size_t i = 0; i < map.replicas.size(); ++i)
      if (map.replica_of[i] == master) candidates.push_back(map.replicas[i]);
    if (!candidates.empty()) choose(map.masters[master], std::move(candidates), chosen);
  }
  for (Chosen& each : chosen_)
    if (each.looks) leaving_.push_back(std::move(each.looks));
  chosen_ = std::move(chosen);
}

void ClusterReplicas::choose(const redis::Endpoint& master, std::vector<redis::Endpoint> candidates,
                             std::vector<Chosen>& chosen) {
  const auto before = std::ranges::find(chosen_, master, &Chosen::master);
  if (before != chosen_.end()) {
    const auto still_there = std::ranges::find(candidates, before->replica);
    if (still_there != candidates.end()) {
      if (candidates.size() == 1 || !before->looks->failing()) {
        chosen.push_back(std::move(*before));
        return;
      }
      candidates.erase(still_there);
    }
  }
  redis::Endpoint& replica = candidates[random_(candidates.size())];
  chosen.push_back({master, replica, make_(replica)});
}

bool ClusterReplicas::take(const ClusterNodes::Node& master, StoreCall& call) {
  const auto found = std::ranges::find(chosen_, master.endpoint, &Chosen::master);
  return found != chosen_.end() && found->looks->take(call);
}

void ClusterReplicas::tick(std::int64_t now_us, const ClusterNodes& nodes) {
  for (const Chosen& each : chosen_) {
    each.looks->tick(now_us, [&] {
      RedisBackend* server = nullptr;
      nodes.for_each([&](const ClusterNodes::Node& node) {
        if (node.endpoint == each.master) server = node.server.get();
      });
      return server;
    });
  }
  for (const auto& looks : leaving_) looks->tick(now_us, [] { return nullptr; });
  std::erase_if(leaving_, [&](const auto& looks) {
    if (looks->idle()) gone_ += looks->stats();
    return looks->idle();
  });
}

std::int64_t ClusterReplicas::next_due_us() const {
  std::int64_t due_us = INT64_MAX;
  for (const Chosen& each : chosen_) due_us = std::min(due_us, each.looks->next_due_us());
  for (const auto& looks : leaving_) due_us = std::min(due_us, looks->next_due_us());
  return due_us;
}

ReplicaLooksStats ClusterReplicas::stats() const {
  ReplicaLooksStats sum = gone_;
  for (const Chosen& each : chosen_) sum += each.looks->stats();
  for (const auto& looks : leaving_) sum += looks->stats();
  return sum;
}

}  // namespace sluice

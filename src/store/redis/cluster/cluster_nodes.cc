#include "store/redis/cluster/cluster_nodes.h"

#include <algorithm>
#include <cassert>
#include <utility>

#include "base/limits.h"

namespace sluice {
namespace {

using redis::SlotMap;

constexpr std::int64_t kStaysUs = 5'000'000;  // without slots

bool is_well(const ClusterNodes::Node& node) {
  return node.server->ready() && node.server->breaker_state() == redis::Breaker::State::kClosed &&
         !node.server->is_left_out();
}

// A unix socket has no port.
redis::Endpoint endpoint_of(const redis::Address& address) {
  if (!address.unix_path.empty()) return {address.unix_path, 0};
  return {address.host, address.port};
}

}  // namespace

redis::Endpoint ClusterNodes::Node::here() const {
  return endpoint.port == 0 ? redis::Endpoint{"127.0.0.1", 0} : endpoint;
}

ClusterNodes::ClusterNodes(std::vector<redis::Address> seeds, MakeServer make_server, std::int64_t now_us)
    : seeds_(std::move(seeds)),
      make_server_(std::move(make_server)),
      owner_(redis::kSlots, SlotMap::kNobody) {
  assert(!seeds_.empty());
  call_in_others(now_us);
}

ClusterNodes::Node& ClusterNodes::of_server(const RedisBackend& server) const {
  const auto found =
      std::ranges::find_if(nodes_, [&](const auto& node) { return node && node->server.get() == &server; });
  assert(found != nodes_.end());
  return **found;
}

redis::Address ClusterNodes::address_of(const redis::Endpoint& endpoint) const {
  redis::Address address = seeds_.front();
  address.host = endpoint.host;
  address.port = endpoint.port;
  address.unix_path.clear();
  address.database = 0;
  return address;
}

ClusterNodes::Node* ClusterNodes::at(const redis::Endpoint& endpoint, std::int64_t now_us) {
  return make(endpoint, address_of(endpoint), now_us);
}

ClusterNodes::Node* ClusterNodes::make(const redis::Endpoint& endpoint, const redis::Address& address,
                                       std::int64_t now_us) {
  for (const auto& node : nodes_) {
    if (!node || node->endpoint != endpoint) continue;
    node->needed_at_us = now_us;
    return node.get();
  }
  auto place = std::ranges::find(nodes_, nullptr, &std::unique_ptr<Node>::get);
  if (place == nodes_.end()) {
    if (nodes_.size() >= kRedisClusterNodesMax) return nullptr;
    place = nodes_.insert(place, nullptr);
  }
  *place = std::make_unique<Node>(Node{endpoint, make_server_(endpoint.to_string(), address), 0, now_us});
  return place->get();
}

void ClusterNodes::call_in_others(std::int64_t now_us) {
  for (const redis::Address& seed : seeds_) make(endpoint_of(seed), seed, now_us);
  for (const redis::Endpoint& replica : replicas_) at(replica, now_us);
}

bool ClusterNodes::adopt(const SlotMap& map, std::int64_t now_us) {
  for (std::size_t slot = 0; slot < owner_.size() && map.masters.size() == 1; ++slot)
    if (map.owner[slot] == SlotMap::kNobody && owner_[slot] != SlotMap::kNobody &&
        is_well(*nodes_[owner_[slot]]))
      return false;
  std::vector<std::uint16_t> place(map.masters.size(), SlotMap::kNobody);
  for_each([&](Node& node) {
    if (node.slots > 0) node.needed_at_us = now_us;
    node.slots = 0;
  });
  for (std::size_t i = 0; i < map.masters.size(); ++i) {
    const Node* master = at(map.masters[i], now_us);
    if (master == nullptr) continue;
    const auto found = std::ranges::find(nodes_, master, &std::unique_ptr<Node>::get);
    place[i] = static_cast<std::uint16_t>(found - nodes_.begin());
  }
  // The node that sent the map may know less than we do. A slot is not taken from a healthy node and given to
  // a failing one: if that is wrong, the healthy node will redirect us.
  const auto stays = [&](std::uint16_t before, std::uint16_t after) {
    return before != SlotMap::kNobody && after != SlotMap::kNobody && is_well(*nodes_[before]) &&
           nodes_[after]->server->breaker_state() != redis::Breaker::State::kClosed;
  };
  for (std::size_t slot = 0; slot < owner_.size(); ++slot) {
    const std::uint16_t owner = map.owner[slot];
    const std::uint16_t after = owner == SlotMap::kNobody ? owner : place[owner];
    if (!stays(owner_[slot], after)) owner_[slot] = after;
    if (owner_[slot] != SlotMap::kNobody) ++nodes_[owner_[slot]]->slots;
  }
  replicas_ = map.replicas;
  has_map_ = true;
  return true;
}

void ClusterNodes::assign(std::uint16_t slot, Node& node) {
  if (Node* before = of_slot(slot)) --before->slots;
  const auto found = std::ranges::find(nodes_, &node, &std::unique_ptr<Node>::get);
  owner_[slot] = static_cast<std::uint16_t>(found - nodes_.begin());
  ++node.slots;
}

ClusterNodes::Node* ClusterNodes::next_ready() {
  for (std::size_t i = 1; i <= nodes_.size(); ++i) {
    const std::size_t place = (last_asked_ + i) % nodes_.size();
    if (!nodes_[place] || !nodes_[place]->server->ready()) continue;
    last_asked_ = place;
    return nodes_[place].get();
  }
  return nullptr;
}

std::size_t ClusterNodes::slots_of_nobody() const {
  return static_cast<std::size_t>(std::ranges::count(owner_, SlotMap::kNobody));
}

bool ClusterNodes::all_well() const {
  std::size_t slots = 0;
  for_each([&](const Node& node) { slots += is_well(node) ? node.slots : 0; });
  return slots == redis::kSlots;
}

std::vector<std::string> ClusterNodes::problems() const {
  std::vector<std::string> sentences;
  const std::size_t orphans = slots_of_nobody();
  if (!has_map_) {
    sentences.push_back("Redis Cluster: no node has reported the slot map yet");
  } else if (orphans > 0) {
    sentences.push_back("Redis Cluster: " + std::to_string(orphans) + " of " + std::to_string(redis::kSlots) +
                        " slots are not assigned to a node; run redis-cli --cluster check");
  }
  for_each([&](const Node& node) {
    if (node.slots == 0 && has_map_) return;
    std::vector<std::string> of_node = node.server->health().problems;
    if (!is_well(node) && has_map_ && !of_node.empty())
      of_node.front() += "; this node has " + std::to_string(node.slots) + " slots";
    sentences.insert(sentences.end(), of_node.begin(), of_node.end());
  });
  return sentences;
}

void ClusterNodes::let_go(std::int64_t now_us) {
  for (auto& node : nodes_) {
    if (!node || node->slots > 0 || now_us - node->needed_at_us < kStaysUs || !node->server->idle()) continue;
    gone_ += node->server->stats();
    node.reset();
  }
}

RedisStats ClusterNodes::stats() const {
  RedisStats sum = gone_;
  for_each([&](const Node& node) { sum += node.server->stats(); });
  return sum;
}

}  // namespace sluice

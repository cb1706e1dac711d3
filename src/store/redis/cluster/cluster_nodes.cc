#include "store/redis/cluster/cluster_nodes.h"

#include <algorithm>
#include <cassert>
#include <functional>
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

std::uint16_t ClusterNodes::place_of(const Node* node) const {
  if (node == nullptr) return SlotMap::kNobody;
  const auto found = std::ranges::find(nodes_, node, &std::unique_ptr<Node>::get);
  return static_cast<std::uint16_t>(found - nodes_.begin());
}

bool ClusterNodes::would_strand(const SlotMap& map) const {
  for (std::size_t slot = 0; slot < owner_.size() && map.masters.size() == 1; ++slot)
    if (map.owner[slot] == SlotMap::kNobody && owner_[slot] != SlotMap::kNobody &&
        is_well(*nodes_[owner_[slot]]))
      return true;
  return false;
}

// How new the claim to a slot is that a map reports, compared with that of the slot's owner. Equal: nothing
// is known, or the owner itself has sent the map.
std::strong_ordering ClusterNodes::compare(const redis::ConfigEpochs& epochs,
                                           std::optional<std::uint64_t> claim, std::uint16_t owner) const {
  if (owner == SlotMap::kNobody) return std::strong_ordering::equal;
  const Node& node = *nodes_[owner];
  if (node.config_epoch == 0 || epochs.self() == node.id || !epochs.of(node.id))
    return std::strong_ordering::equal;
  return claim.value_or(0) <=> node.config_epoch;
}

std::vector<ClusterNodes::Claim> ClusterNodes::claims_of(const SlotMap& map,
                                                         const redis::ConfigEpochs& epochs) const {
  std::vector<Claim> claims(map.masters.size());
  for (std::size_t i = 0; i < claims.size(); ++i) {
    claims[i].by = &map.masters[i];
    for (std::size_t place = 0; place < nodes_.size(); ++place)
      if (nodes_[place] && nodes_[place]->endpoint == map.masters[i])
        claims[i].place = static_cast<std::uint16_t>(place);
    if (!map.ids.empty()) claims[i].epoch = epochs.of(map.ids[i]);
  }
  return claims;
}

bool ClusterNodes::settle(std::uint16_t& owner, Claim& claim, const redis::ConfigEpochs& epochs,
                          std::int64_t now_us) {
  if (owner != SlotMap::kNobody && owner == claim.place) return true;
  const std::strong_ordering age = compare(epochs, claim.epoch, owner);
  if (age < 0) return false;
  if (claim.place == SlotMap::kNobody && claim.by != nullptr)
    claim.place = place_of(at(*std::exchange(claim.by, nullptr), now_us));
  // If epochs do not tell, a slot is not taken from a healthy node and given to a failing one: if that is
  // wrong, the healthy node will redirect us.
  const bool stays = age == 0 && owner != SlotMap::kNobody && claim.place != SlotMap::kNobody &&
                     is_well(*nodes_[owner]) &&
                     nodes_[claim.place]->server->breaker_state() != redis::Breaker::State::kClosed;
  if (!stays) owner = claim.place;
  return true;
}

ClusterNodes::Adopted ClusterNodes::adopt(const SlotMap& map, const redis::ConfigEpochs& epochs,
                                          std::int64_t now_us) {
  if (would_strand(map)) return Adopted::kNot;
  for_each([&](Node& node) {
    if (node.slots > 0) node.needed_at_us = now_us;
    node.slots = 0;
  });
  std::vector<Claim> claims = claims_of(map, epochs);
  bool whole = true;
  for (std::size_t slot = 0; slot < owner_.size(); ++slot) {
    Claim nobody;
    const std::uint16_t named = map.owner[slot];
    whole &= settle(owner_[slot], named == SlotMap::kNobody ? nobody : claims[named], epochs, now_us);
    if (owner_[slot] != SlotMap::kNobody) ++nodes_[owner_[slot]]->slots;
  }
  for (std::size_t i = 0; i < claims.size() && !map.ids.empty(); ++i)
    if (claims[i].place != SlotMap::kNobody)
      note_epoch(*nodes_[claims[i].place], map.ids[i], claims[i].epoch.value_or(0), epochs.self());
  if (whole) replicas_ = map.replicas;
  has_map_ = true;
  return whole ? Adopted::kWhole : Adopted::kInPart;
}

// What others say may be outdated; what a node says of itself is right.
void ClusterNodes::note_epoch(Node& node, const std::string& id, std::uint64_t epoch, std::string_view self) {
  const bool is_certain = node.id != id || id == self;
  node.id = id;
  node.config_epoch = is_certain ? epoch : std::max(node.config_epoch, epoch);
}

void ClusterNodes::assign(std::uint16_t slot, Node& node) {
  if (Node* before = of_slot(slot)) --before->slots;
  owner_[slot] = place_of(&node);
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

bool ClusterNodes::has_slots(const redis::Endpoint& endpoint) const {
  return std::ranges::any_of(
      nodes_, [&](const auto& node) { return node && node->slots > 0 && node->endpoint == endpoint; });
}

std::vector<redis::Address> ClusterNodes::next_others() {
  std::vector<redis::Address> others;
  if (!has_map_) return others;
  const auto add_next = [&](const auto& all, std::size_t& last, const auto& endpoint, const auto& address) {
    for (std::size_t i = 0; i < all.size(); ++i) {
      const auto& next = all[++last % all.size()];
      if (!has_slots(endpoint(next))) return others.push_back(address(next));
    }
  };
  add_next(replicas_, last_replica_, std::identity(), [this](const auto& it) { return address_of(it); });
  add_next(seeds_, last_seed_, endpoint_of, std::identity());
  return others;
}

bool ClusterNodes::are_known_to(const redis::ConfigEpochs& epochs) const {
  return std::ranges::any_of(
      nodes_, [&](const auto& node) { return node && node->slots > 0 && epochs.of(node->id); });
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

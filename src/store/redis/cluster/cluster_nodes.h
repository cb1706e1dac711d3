#pragma once

#include <compare>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "redis/cluster/cluster_slots.h"
#include "redis/cluster/config_epochs.h"
#include "store/redis/backend/redis_backend.h"

namespace sluice {

// The nodes of a cluster, each with its own RedisBackend, and the map of slots to nodes. Belongs to one event
// loop's thread. A node that is not in the map (any more, or not yet: a seed, the target of an ASK) stays for
// a while, and is removed when no call waits for it.
class ClusterNodes {
 public:
  struct Node {
    redis::Endpoint endpoint;
    std::unique_ptr<RedisBackend> server;
    std::size_t slots = 0;           // in the map
    std::int64_t needed_at_us = 0;   // the last time, if it has no slots
    std::string id;                  // as the map names it; empty: not known
    std::uint64_t config_epoch = 0;  // the highest that is known; 0: none

    // What its server means by an empty host.
    redis::Endpoint here() const;
  };
  using MakeServer =
      std::function<std::unique_ptr<RedisBackend>(const std::string& name, const redis::Address&)>;

  // `seeds`: nodes to start with. The user and password of the first one are used for all other nodes.
  // REQUIRES: there is a seed.
  ClusterNodes(std::vector<redis::Address> seeds, MakeServer make_server, std::int64_t now_us);

  // The slot's node; null: it has none, or none is known.
  Node* of_slot(std::uint16_t slot) const {
    const std::uint16_t owner = owner_[slot];
    return owner == redis::SlotMap::kNobody ? nullptr : nodes_[owner].get();
  }
  // REQUIRES: it is one of them.
  Node& of_server(const RedisBackend& server) const;

  // Finds or makes a node. Null when there are too many.
  Node* at(const redis::Endpoint& endpoint, std::int64_t now_us);

  // How to connect to a node.
  redis::Address address_of(const redis::Endpoint& endpoint) const;

  // Makes nodes of the seeds and of the known replicas, too: one of them may know more than our nodes.
  void call_in_others(std::int64_t now_us);

  enum class Adopted : std::uint8_t { kNot, kInPart, kWhole };

  // Takes over a new map, which may be older than what we know. `epochs` come from the node that sent it.
  //
  // kInPart: some slots stay with their owners. The sender knows these owners, but not that they have the
  // slots: it names others, with lower config epochs. An owner can give up a slot only itself.
  // kNot: the map knows of only one master and would take slots from healthy nodes without giving them to
  // another. (A node that was made to forget the others reports such a map.)
  Adopted adopt(const redis::SlotMap& map, const redis::ConfigEpochs& epochs, std::int64_t now_us);
  // Takes over one slot. REQUIRES: the node is one of them.
  void assign(std::uint16_t slot, Node& node);

  // The next node, in turn, that can be asked now; null: none.
  Node* next_ready();

  // One known replica and one seed, in turn, of those that have no slots: they may know more than our nodes.
  // None before the first map.
  std::vector<redis::Address> next_others();

  // Whether the node that sent these epochs knows a node that has slots; if not, it is of another Cluster.
  bool are_known_to(const redis::ConfigEpochs& epochs) const;

  // All nodes, in no order. Nodes may be added meanwhile.
  template <typename Function>
  void for_each(Function&& function) const {
    for (std::size_t i = 0; i < nodes_.size(); ++i)
      if (nodes_[i]) function(*nodes_[i]);
  }

  // Every slot has a node that is connected and healthy.
  bool all_well() const;

  // One sentence per problem.
  std::vector<std::string> problems() const;

  // Removes nodes that are no longer needed. Must not be called from a node's callback.
  void let_go(std::int64_t now_us);

  // The sum over all nodes, removed ones included.
  RedisStats stats() const;

 private:
  // What a map says of one master.
  struct Claim {
    const redis::Endpoint* by = nullptr;            // null: nobody, or there is no place for it
    std::uint16_t place = redis::SlotMap::kNobody;  // in nodes_, once it gets a slot
    std::optional<std::uint64_t> epoch;
  };

  Node* make(const redis::Endpoint& endpoint, const redis::Address& address, std::int64_t now_us);
  std::uint16_t place_of(const Node* node) const;
  bool would_strand(const redis::SlotMap& map) const;
  std::strong_ordering compare(const redis::ConfigEpochs& epochs, std::optional<std::uint64_t> claim,
                               std::uint16_t owner) const;
  std::vector<Claim> claims_of(const redis::SlotMap& map, const redis::ConfigEpochs& epochs) const;
  // Gives a slot to whoever claims it. False: its owner stays, with a newer claim.
  bool settle(std::uint16_t& owner, Claim& claim, const redis::ConfigEpochs& epochs, std::int64_t now_us);
  static void note_epoch(Node& node, const std::string& id, std::uint64_t epoch, std::string_view self);
  bool has_slots(const redis::Endpoint& endpoint) const;
  std::size_t slots_of_nobody() const;

  const std::vector<redis::Address> seeds_;
  const MakeServer make_server_;
  std::vector<std::unique_ptr<Node>> nodes_;  // null: a free place
  std::vector<std::uint16_t> owner_;          // of each slot: its place in nodes_, or SlotMap::kNobody
  std::vector<redis::Endpoint> replicas_;     // in the last map
  bool has_map_ = false;
  std::size_t last_asked_ = 0;
  std::size_t last_replica_ = 0, last_seed_ = 0;  // of next_others()
  RedisStats gone_;
};

}  // namespace sluice

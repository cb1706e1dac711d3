#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "redis/cluster_slots.h"
#include "store/redis/redis_store.h"

namespace sluice {

// The nodes of a cluster, each with a RedisStore of its own, and which of them has which slot. Belongs to one
// event loop's thread. Who is not in the map any more, or never was (a seed, the target of an ASK), stays for
// a while and then goes, when nobody waits for it.
class ClusterNodes {
 public:
  struct Node {
    redis::Endpoint endpoint;
    std::unique_ptr<RedisStore> store;
    std::size_t slots = 0;          // in the map
    std::int64_t needed_at_us = 0;  // last, when it has no slots

    // What its server means when it leaves a host out.
    redis::Endpoint here() const;
  };
  using MakeStore = std::function<std::unique_ptr<RedisStore>(const redis::Address&)>;

  // `seeds`: where to begin. Other nodes are talked to as the first of them is: user, password.
  // REQUIRES: there is a seed.
  ClusterNodes(std::vector<redis::Address> seeds, MakeStore make_store, std::int64_t now_us);

  // Who has the slot; null: nobody, or we don't know.
  Node* of_slot(std::uint16_t slot) const {
    const std::uint16_t owner = owner_[slot];
    return owner == redis::SlotMap::kNobody ? nullptr : nodes_[owner].get();
  }
  // REQUIRES: it is one of them.
  Node& of_store(const RedisStore& store) const;

  // Finds or makes a node. Null when there are too many.
  Node* at(const redis::Endpoint& endpoint, std::int64_t now_us);

  // How a node is talked to.
  redis::Address address_of(const redis::Endpoint& endpoint) const;

  // Makes the seeds and the known replicas nodes, too: somebody may know more than those that we have.
  void call_in_others(std::int64_t now_us);

  // A new map, which may be older than what we know. False: whoever tells it knows of one master only, and
  // would take slots from others that are well and give them to nobody, as a node does that was made to
  // forget the others; nothing of it is believed.
  bool adopt(const redis::SlotMap& map, std::int64_t now_us);
  // One slot of it. REQUIRES: the node is one of them.
  void assign(std::uint16_t slot, Node& node);

  // Somebody who can be asked now, in turn; null: nobody.
  Node* next_ready();

  // All that are there, in no order. More may come meanwhile.
  template <typename Function>
  void for_each(Function&& function) const {
    for (std::size_t i = 0; i < nodes_.size(); ++i)
      if (nodes_[i]) function(*nodes_[i]);
  }

  // Every slot has a node, which is there and well.
  bool all_well() const;

  // A sentence for each thing that is not well.
  std::vector<std::string> problems() const;

  // Lets those go that nobody needs any more. Not to be called by what a node is doing.
  void let_go(std::int64_t now_us);

  // Of all nodes, also of those that are gone.
  RedisStoreCounters counters() const;

 private:
  Node* make(const redis::Endpoint& endpoint, const redis::Address& address, std::int64_t now_us);
  std::size_t slots_of_nobody() const;

  const std::vector<redis::Address> seeds_;
  const MakeStore make_store_;
  std::vector<std::unique_ptr<Node>> nodes_;  // null: a free place
  std::vector<std::uint16_t> owner_;          // of each slot: its place in nodes_, or SlotMap::kNobody
  std::vector<redis::Endpoint> replicas_;     // in the last map
  bool has_map_ = false;
  std::size_t last_asked_ = 0;
  RedisStoreCounters gone_;
};

}  // namespace sluice

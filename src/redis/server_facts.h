#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace sluice::redis {

// What a server says of itself with INFO, and a node of a Cluster with CONFIG GET. Plain data; what it did
// not say is empty.
struct ServerFacts {
  struct Replica {
    std::string place;          // 10.0.0.8:6379
    bool online = false;        // gets every write as it happens
    std::int64_t offset = 0;    // how far it has heard
    std::int64_t silent_s = 0;  // for how long it has said nothing
  };

  std::string version;                           // 7.0.15; of Valkey: which Redis it is like
  std::string eviction;                          // maxmemory-policy
  std::optional<std::int64_t> memory_bytes_max;  // maxmemory; 0: no limit
  std::optional<std::int64_t> memory_bytes;      // used_memory
  bool lost_its_master = false;                  // it is a replica without a link
  bool is_cluster_node = false;
  bool needs_all_slots = false;  // cluster-require-full-coverage
  bool is_replica = false;
  std::string history;            // master_replid: the same on a master and those who follow it
  std::int64_t heard_offset = 0;  // how far a replica has heard its master
  std::vector<Replica> replicas;  // at most kReplicasMax
  std::int64_t offset = 0;        // how far it has written
};

// Takes over what one or more sections of INFO say. Whatever is odd is passed over.
void read_info(std::string_view text, ServerFacts& facts);

}  // namespace sluice::redis

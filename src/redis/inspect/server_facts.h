#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace sluice::redis {

// What a server reports about itself with INFO, and a node of a Cluster with CONFIG GET. Plain data. Fields
// that the server did not report are empty.
struct ServerFacts {
  struct Replica {
    std::string place;          // 10.0.0.8:6379
    bool online = false;        // gets every write as it happens
    std::int64_t offset = 0;    // how far it has read
    std::int64_t silent_s = 0;  // seconds since it was last heard
  };

  std::string version;   // 7.0.15; for Valkey: the Redis version it is compatible with
  std::string eviction;  // maxmemory-policy
  std::optional<std::int64_t> memory_bytes_max;  // maxmemory; 0: no limit
  std::optional<std::int64_t> memory_bytes;      // used_memory
  bool lost_its_master = false;                  // it is a replica, and master_link_status is down
  bool is_cluster_node = false;
  bool needs_all_slots = false;  // cluster-require-full-coverage
  bool is_replica = false;
  std::string history;            // master_replid: the same on a master and its replicas
  std::int64_t heard_offset = 0;  // how far a replica has read its master
  std::vector<Replica> replicas;  // at most kReplicasMax
  std::int64_t offset = 0;        // how far it has written
};

// Adds what one or more sections of INFO say. Whatever it cannot read is skipped.
void read_info(std::string_view text, ServerFacts& facts);

}  // namespace sluice::redis

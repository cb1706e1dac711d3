#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

namespace sluice::redis {

// How new the claims of a Cluster's masters to their slots are, as one node knows it. Not thread-safe.
//
// A node may not know that a master was replaced. Two reports about the same slot are compared as the Cluster
// itself compares them: the owner with the higher config epoch is the right one. Whoever takes over a slot
// gets an epoch above all others. Epochs of different Clusters say nothing about each other, so a report
// counts only for nodes that it knows, by their ids.
class ConfigEpochs {
 public:
  // Reads the reply to CLUSTER NODES, a line for each node; lines of another form are left out. REQUIRES: the
  // text outlives it.
  explicit ConfigEpochs(std::string_view nodes);

  // Absent: the node that was asked does not know this one.
  std::optional<std::uint64_t> of(std::string_view id) const;
  // The id of the node that was asked; empty: it has not said.
  std::string_view self() const { return self_; }
  bool empty() const { return entries_.empty(); }

 private:
  struct Entry {
    std::string_view id;
    std::uint64_t epoch = 0;
  };
  void read_line(std::string_view line);

  std::vector<Entry> entries_;  // by id
  std::string_view self_;
};

}  // namespace sluice::redis

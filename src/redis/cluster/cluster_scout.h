#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "redis/cluster/cluster_slots.h"
#include "redis/protocol/reply_stream.h"
#include "redis/url/redis_url.h"

namespace sluice::redis {

// Asks nodes of a Cluster that serve nothing to us (replicas, seeds) what they know, over a short connection
// of its own, one node after the other. Not thread-safe.
//
// A master that is cut off from the others does not know that it was replaced. So whoever asks masters alone
// may never hear of it. A node that does not answer is passed over: there is nothing to learn from it.
class ClusterScout final : private ReplyStream::Events {
 public:
  // The replies to CLUSTER SLOTS, and to CLUSTER NODES.
  using OnReport =
      std::function<void(const Endpoint& asked, std::span<const RespValue> slots, std::string_view nodes)>;

  // REQUIRES: transport and clock outlive it.
  ClusterScout(Transport& transport, const Clock& clock, OnReport on_report)
      : clock_(clock), on_report_(std::move(on_report)), stream_(transport, clock, *this) {}

  // Visits these nodes, instead of those that it was to visit next.
  void visit(std::vector<Address> nodes);

  void tick(std::int64_t now_us);

 private:
  static constexpr std::int64_t kPatienceUs = 1'000'000;  // for a whole visit

  void on_open() override;
  void on_reply(std::span<const RespValue> reply) override;
  void on_end(std::string_view, bool) override { go_on(); }
  void go_on();

  const Clock& clock_;
  const OnReport on_report_;
  ReplyStream stream_;
  std::vector<Address> to_visit_;  // the next one is the last
  Address address_;
  std::int64_t give_up_at_us_ = 0;
  bool logging_in_ = false;
  std::string nodes_;           // the reply to CLUSTER NODES
  bool nodes_replied_ = false;  // whether it is there
};

}  // namespace sluice::redis

#pragma once

#include <bitset>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "redis/cluster/cluster_scout.h"
#include "redis/inspect/refresh_timer.h"
#include "store/redis/backend/trouble_news.h"
#include "store/redis/cluster/cluster_nodes.h"
#include "store/redis/cluster/cluster_replicas.h"
#include "store/redis/cluster/split_call.h"

namespace sluice {

struct ClusterStoreOptions {
  std::vector<redis::Address> seeds;  // nodes to start with; the cluster names the others
  RedisBackendOptions node;           // for every node; ClusterStore sets name and address
  // May change the options of one node, which is identified by its address.
  std::function<void(RedisBackendOptions&)> for_each_node;
  redis::RefreshOptions refresh{.period_us = 10'000'000};  // of the map of slots
  bool looks_at_replicas = false;                          // see ReplicaLooks
};

// What a ClusterStore has done itself, without its nodes; only grows.
struct ClusterStats {
  std::uint64_t split_calls = 0;           // calls on several slots
  std::uint64_t refunds = 0;               // slots where a denied call had been charged
  std::uint64_t refunds_lost = 0;          // refunds without an answer
  std::uint64_t redirected = 0;            // calls that followed a MOVED or ASK
  std::uint64_t tried_again = 0;           // retries of calls that waited for a slot to settle
  std::uint64_t redirected_too_often = 0;  // calls given up after too many redirects
  std::uint64_t without_node = 0;          // calls on a slot that no node has
  std::uint64_t denied_from_memory = 0;    // calls, see RememberedDenials
  std::uint64_t split_by_key = 0;          // calls on a slot whose keys are on two nodes
  std::uint64_t shed_slot_moving = 0;      // calls that such a slot could not decide
  std::uint64_t too_many_split = 0;        // shed: more split calls than we track, or than a node can answer
  std::uint64_t refreshes = 0;             // requests for the map
  std::uint64_t maps = 0;                  // maps received and understood
};

// A Store on a Redis or Valkey Cluster. Belongs to one event loop's thread.
//
//   RedisBackendOptions node{.connection = {.script = redis_script()}};
//   ClusterStore store(transport, clock, params, {.seeds = target.addresses, .node = node}, random);
//
// A call goes to the node that has the slot of its charges (Charge::slot_tag). If the charges are on several
// slots, the call is split: all slots are asked at the same time, so it takes one round trip. If one of them
// denies, the charges on the others are given back.
//
// The map of slots comes from any node. It is fetched again when it turns out to be wrong: a node redirects a
// call, is lost, or is down. Until then a call follows its redirects. A redirect has charged nothing, so
// following it is safe for calls without a request id, too. After a master is lost, the map is fetched until
// another node has its slots; meanwhile its breaker answers for these slots, and only these.
//
// A master that was replaced, but is cut off from the others and does not know it, redirects nobody. So now
// and then a replica and a seed are asked for their maps, too (ClusterScout), and of two nodes that claim a
// slot the one with the higher config epoch has it (ConfigEpochs). That it is out of reach changes nothing:
// then the failure rule decides. A node that knows none of ours is of another cluster, and is ignored.
//
// While a slot moves, its keys are on two nodes, and no command can touch both. A call that its node can
// decide in one step is decided so. Otherwise its charges are charged one by one, each on the node that has
// the key, with refunds as for a call on several slots. A call with a request id cannot be split, as its
// record is written in one step with the charges: it waits for the move to end, and is shed at its deadline.
// The failure rule is not for it: the nodes answer.
//
// A single seed that is not in a cluster (REDIS_CLUSTER_URL often names a development server) is used as one
// server that has all slots. With several seeds, none is taken for such a server: another seed may be in the
// cluster, and its counters would be ignored.
//
// What splitting costs in exactness (docs/operations.md has what operators need of it):
// - No more is admitted than one server would admit: an admitted call is charged on all its slots. (What a
//   refund can leave behind, after a clock that stepped back or a reset in between, is in
//   algorithm/refund.h.)
// - Less may be admitted. When a slot charges a call that another slot denies, the room of that charge is
//   missing until the refund arrives, one round trip later. At any time this is at most the sum of the costs
//   of the split calls in flight.
// - A charge stays, and fades like any other, if its call got no answer from that slot (it may have been
//   charged all the same), or if its refund got no answer within a second (counted: refunds_lost). With a
//   request id it is not lost if the request is repeated and admitted. If the repeat is denied, it stays: an
//   earlier request with the same id may have been admitted and have used it. So only what a call has charged
//   itself is given back, and only if no repeat was told of it.
// - OnDenial::kCharge works across slots as within one: such charges are not given back.
// - A leaky_bucket counts as denied only what its own slot denied. A charge resets that count, even if it is
//   given back.
class ClusterStore final : public Store, private RedisBackendOwner, private SplitCall::Events {
 public:
  using Random = RedisBackend::Random;

  // REQUIRES: transport, clock and params outlive the store; there is a seed; node.key_prefix has no {.
  ClusterStore(redis::Transport& transport, const Clock& clock, ParamsTable& params,
               ClusterStoreOptions options, Random random);
  ~ClusterStore() override;

  bool start(StoreCall& call) override;
  void reset(std::span<const CounterName> counters, std::function<void(int)> done) override;
  void begin_burst() override;
  void end_burst() override;
  void tick(std::int64_t now_us) override;
  std::int64_t next_due_us() const override;
  bool busy() const override;
  // Connected: every slot has a healthy node. One sentence per problem.
  Health health() const override;
  void report(StoreReport& report) const override;

  const ClusterStats& stats() const { return stats_; }
  // The sum over the nodes, plus what was shed or denied before it reached them.
  RedisStats node_stats() const {
    RedisStats sum = nodes_.stats();
    sum.denied_from_memory += stats_.denied_from_memory;
    sum.shed_queue_full += stats_.too_many_split;
    sum.shed_slot_moving += stats_.shed_slot_moving;
    return sum;
  }
  const ClusterNodes& nodes() const { return nodes_; }
  ReplicaLooksStats look_stats() const { return replicas_ ? replicas_->stats() : ReplicaLooksStats{}; }

 private:
  using Node = ClusterNodes::Node;
  using Part = SplitCall::Part;
  class Reset;

  std::unique_ptr<ClusterReplicas> make_replicas(redis::Transport& transport, ParamsTable& params);

  bool is_remembered(StoreCall& call);
  void deny_unanswered(StoreCall& call);

  // Split calls.
  bool start_split(StoreCall& call);
  bool start_rounds(SplitCall& split);
  bool start_part(Part& part);
  bool would_shed(const Part& part) const;
  bool would_fail(const Part& part) const;
  bool start_on(Node* node, StoreCall& call);
  static void leave_unanswered(StoreCall& call);
  void on_parts_done(SplitCall& split) override;
  StoreCall& conclude(SplitCall& split);
  void start_refunds(SplitCall& split);
  SplitCall* spare_split();
  void give_back(SplitCall& split);

  // Redirected and refused calls.
  void on_sent_away(RedisBackend& from, redis::ServerError kind, std::string_view reply,
                    std::span<StoreCall* const> calls) override;
  bool takes_single_keys_only(std::uint16_t slot) const override { return moving_[slot]; }
  bool has_slots() const override { return !alone_; }
  // Several slots in one command are our mistake, unless we took the server for one without slots.
  bool takes_back(redis::ServerError kind) const override {
    return belongs_elsewhere(kind) || (kind == redis::ServerError::kCrossSlot && alone_);
  }
  // Until the deadline: one part without an answer makes the others take back their charges.
  bool may_send_again(const StoreCall&) const override { return true; }
  void on_half_moved(std::span<StoreCall* const> calls);
  void start_key_by_key(std::span<StoreCall* const> calls);
  std::string half_moved_trouble(std::int64_t now_us) const;
  void report_news(std::int64_t now_us);
  void follow(Node& from, bool moved, std::string_view reply, std::span<StoreCall* const> calls);
  std::vector<Part*> take_on(std::span<StoreCall* const> calls);
  bool hop(Part& part);
  static void shed(StoreCall& call);
  void wait_a_little(Part& part);
  void resume_waiting(std::int64_t now_us);
  void start_by_map(std::vector<StoreCall*> calls);
  void fail(std::span<StoreCall* const> calls);

  // The map: cluster_store_map.cc.
  void compare_clocks(std::int64_t now_us);
  void refresh(std::int64_t now_us);
  bool ask_for_map(Node& node);
  void be_alone();
  void be_one_of_many();
  void on_map(const redis::Endpoint& asked, std::span<const redis::RespValue> reply,
              const redis::ConfigEpochs& epochs);
  void on_scouted(const redis::Endpoint& asked, std::span<const redis::RespValue> reply,
                  const redis::ConfigEpochs& epochs);
  bool adopt(const redis::SlotMap& map, const redis::ConfigEpochs& epochs);
  void rescue(const std::function<bool(const Node&)>& from);

  const Clock& clock_;
  const ParamsTable& params_;
  const ClusterStoreOptions options_;
  const Random random_;
  std::int64_t clocks_due_us_ = 0;
  bool alone_ = false;         // the seed is not in a cluster
  int bursts_ = 0;             // begun and not ended
  RememberedDenials denials_;  // of all nodes; for a split call, only the slots that denied it are known
  ClusterNodes nodes_;
  std::unique_ptr<ClusterReplicas> replicas_;  // null: looks go to masters
  redis::ClusterScout scout_;
  redis::RefreshTimer refresh_timer_;
  std::string epochs_refused_;         // a sentence, if we may not ask for them
  std::bitset<redis::kSlots> moving_;  // slots whose keys are on two nodes, as far as we have noticed
  std::uint16_t half_moved_slot_ = 0;  // the last one that refused a call
  std::int64_t half_moved_at_us_ = 0;  // 0: never
  TroubleNews half_moved_news_;
  std::vector<std::unique_ptr<SplitCall>> splits_;
  std::vector<SplitCall*> spare_splits_;
  std::vector<Part*> waiting_;  // for a short time
  ClusterStats stats_;
};

}  // namespace sluice

#include "store/redis/cluster/cluster_store.h"

#include <algorithm>
#include <cassert>
#include <utility>

#include "base/limits.h"
#include "redis/inspect/clock_jury.h"
#include "store/redis/script/wire.h"

namespace sluice {
namespace {

constexpr std::int64_t kRefundPatienceUs = 1'000'000;
constexpr std::int64_t kClocksEveryUs = 1'000'000;

bool are_on(std::uint16_t slot, std::span<const Charge> charges) {
  return std::ranges::all_of(charges,
                             [&](const Charge& charge) { return slot_of_tag(charge.slot_tag) == slot; });
}

}  // namespace

ClusterStore::ClusterStore(redis::Transport& transport, const Clock& clock, ParamsTable& params,
                           ClusterStoreOptions options, Random random)
    : clock_(clock),
      params_(params),
      options_(std::move(options)),
      random_(std::move(random)),
      denials_(params, options_.node.freed, options_.node.remember_denials_us),
      nodes_(
          options_.seeds,
          [this, &transport, &params](const std::string& name, const redis::Address& address) {
            RedisBackendOptions node = options_.node;
            node.name = name;
            node.connection.address = address;
            if (options_.for_each_node) options_.for_each_node(node);
            auto server = std::make_unique<RedisBackend>(
                RedisBackend::Parts{transport, clock_, params, *this, denials_}, std::move(node), random_);
            for (int i = 0; i < bursts_; ++i) server->begin_burst();
            return server;
          },
          clock.now_us()),
      replicas_(options_.looks_at_replicas ? make_replicas(transport, params) : nullptr),
      scout_(transport, clock,
             [this](const redis::Endpoint& asked, auto slots, auto nodes) {
               on_scouted(asked, slots, redis::ConfigEpochs(nodes));
             }),
      refresh_timer_(options_.refresh, random_) {
  assert(!options_.node.key_prefix.contains('{'));
}

ClusterStore::~ClusterStore() = default;

std::unique_ptr<ClusterReplicas> ClusterStore::make_replicas(redis::Transport& transport,
                                                             ParamsTable& params) {
  const auto make = [this, &transport, &params](const redis::Endpoint& replica) {
    RedisBackendOptions options = options_.node;
    options.connection.address = nodes_.address_of(replica);
    options.connection.reads_replica = true;
    return std::make_unique<ReplicaLooks>(transport, clock_, params, std::move(options), random_,
                                          [this](StoreCall& call) { start_by_map({&call}); });
  };
  return std::make_unique<ClusterReplicas>(make, random_);
}

void ClusterStore::leave_unanswered(StoreCall& call) {
  call.forget_answer();
  call.sent_again = false;
}

bool ClusterStore::start(StoreCall& call) {
  if (!denials_.empty() && is_remembered(call)) return true;
  if (alone_) return start_on(nodes_.of_slot(0), call);
  const std::uint16_t slot = slot_of_tag(call.charges[0].slot_tag);
  if (!are_on(slot, call.charges.subspan(1))) return start_split(call);
  return start_on(nodes_.of_slot(slot), call);
}

bool ClusterStore::is_remembered(StoreCall& call) {
  const Clock* const decide_by = options_.node.decide_by;
  if (!denials_.deny(call, clock_.now_us(), decide_by != nullptr ? decide_by->now_us() : 0)) return false;
  ++stats_.denied_from_memory;
  return true;
}

// The failure rule is for calls about which nothing is known.
void ClusterStore::deny_unanswered(StoreCall& call) {
  const Clock* const decide_by = options_.node.decide_by;
  if (denials_.deny_unanswered(call, clock_.now_us(), decide_by != nullptr ? decide_by->now_us() : 0))
    ++stats_.denied_from_memory;
}

bool ClusterStore::start_part(Part& part) { return start_on(nodes_.of_slot(part.slot), part); }

bool ClusterStore::start_on(Node* node, StoreCall& call) {
  if (node != nullptr) {
    if (replicas_ && ReplicaLooks::is_look(call) && replicas_->take(*node, call)) return false;
    // What is written in one step must be on one slot.
    if (call.dedupe) call.dedupe->slot_tag = call.charges[0].slot_tag;
    return node->server->start(call);
  }
  ++stats_.without_node;
  leave_unanswered(call);
  deny_unanswered(call);
  return true;
}

bool ClusterStore::would_shed(const Part& part) const {
  const Node* node = nodes_.of_slot(part.slot);
  return node != nullptr && node->server->would_shed(part);
}

bool ClusterStore::would_fail(const Part& part) const {
  const Node* node = nodes_.of_slot(part.slot);
  return node == nullptr || node->server->would_fail(part);
}

bool ClusterStore::busy() const {
  bool any = false;
  nodes_.for_each([&](const Node& node) { any |= node.server->busy(); });
  return any;
}

SplitCall* ClusterStore::spare_split() {
  if (spare_splits_.empty()) {
    if (splits_.size() >= kRedisSplitCallsMax) {
      ++stats_.too_many_split;
      return nullptr;
    }
    splits_.push_back(std::make_unique<SplitCall>());
    return splits_.back().get();
  }
  SplitCall* split = spare_splits_.back();
  spare_splits_.pop_back();
  return split;
}

void ClusterStore::give_back(SplitCall& split) { spare_splits_.push_back(&split); }

bool ClusterStore::start_split(StoreCall& call) {
  leave_unanswered(call);
  SplitCall* split = spare_split();
  if (split == nullptr) {
    call.verdict = Verdict::kShed;
    return true;
  }
  split->begin(call, *this, SplitCall::By::kSlot, call.is_lease ? random_(UINT64_MAX) : 0);
  // All or nothing: if one node would shed its part, the others are not asked either.
  if (std::ranges::any_of(split->parts(), [this](const Part& part) { return would_shed(part); })) {
    ++stats_.too_many_split;
    call.verdict = Verdict::kShed;
    give_back(*split);
    return true;
  }
  // A call that would be denied anyway is not charged anywhere; a lease never passes without an answer.
  const bool cannot_pass =
      call.is_lease ? call.refund_of_us == 0 : call.without_answer == StoreCall::WithoutAnswer::kDenied;
  if (cannot_pass &&
      std::ranges::any_of(split->parts(), [this](const Part& part) { return would_fail(part); })) {
    ++stats_.without_node;
    give_back(*split);
    return true;
  }
  ++stats_.split_calls;
  if (!start_rounds(*split)) return false;
  conclude(*split);
  return true;
}

// False: it goes on when parts are done.
bool ClusterStore::start_rounds(SplitCall& split) {
  while (split.has_round()) {
    for (Part* part : split.begin_round())
      if (start_part(*part)) split.one_less();
    if (!split.one_less()) return false;
  }
  return true;
}

void ClusterStore::on_parts_done(SplitCall& split) {
  if (split.call() != nullptr) {
    if (start_rounds(split)) conclude(split).on_done();
    return;
  }
  for (const Part* part : split.refunds())
    if (!is_answer(part->verdict)) ++stats_.refunds_lost;
  give_back(split);
}

// Puts the answer together, and starts the refunds before the caller can send the next call.
StoreCall& ClusterStore::conclude(SplitCall& split) {
  StoreCall& call = split.settle(params_);
  if (split.is_shed_by_move()) ++stats_.shed_slot_moving;
  start_refunds(split);
  return call;
}

void ClusterStore::start_refunds(SplitCall& split) {
  const auto refunds = split.begin_refunds(clock_.now_us() + kRefundPatienceUs);
  stats_.refunds += refunds.size();
  for (Part* part : refunds)
    if (start_part(*part)) split.one_less();
  if (split.one_less()) on_parts_done(split);
}

void ClusterStore::begin_burst() {
  ++bursts_;
  nodes_.for_each([](Node& node) { node.server->begin_burst(); });
}

void ClusterStore::end_burst() {
  --bursts_;
  nodes_.for_each([](Node& node) { node.server->end_burst(); });
}

std::int64_t ClusterStore::next_due_us() const {
  std::int64_t due_us = INT64_MAX;
  nodes_.for_each([&](const Node& node) { due_us = std::min(due_us, node.server->next_due_us()); });
  for (const Part* part : waiting_) due_us = std::min(due_us, part->retry_at_us);
  return replicas_ ? std::min(due_us, replicas_->next_due_us()) : due_us;
}

void ClusterStore::tick(std::int64_t now_us) {
  nodes_.for_each([&](Node& node) { node.server->tick(now_us); });
  if (replicas_) replicas_->tick(now_us, nodes_);
  if (now_us >= clocks_due_us_) compare_clocks(now_us);
  resume_waiting(now_us);
  rescue([](const Node& node) { return node.slots == 0 && !node.server->ready(); });
  if (!nodes_.all_well()) refresh_timer_.hurry(now_us);
  if (!alone_ && refresh_timer_.due(now_us)) refresh(now_us);
  scout_.tick(now_us);
  nodes_.let_go(now_us);
  report_news(now_us);
}

// A node whose clock is wrong would move windows and refill buckets: its answers are worthless.
void ClusterStore::compare_clocks(std::int64_t now_us) {
  clocks_due_us_ = now_us + kClocksEveryUs;
  std::vector<RedisBackend*> servers;
  std::vector<std::optional<redis::ClockDelta::Estimate>> estimates;
  nodes_.for_each([&](const Node& node) {
    if (node.slots == 0) return;
    servers.push_back(node.server.get());
    estimates.push_back(node.server->clock_delta());
  });
  const auto left_out = std::make_unique<bool[]>(servers.size());
  for (std::size_t i = 0; i < servers.size(); ++i) left_out[i] = servers[i]->is_left_out();
  redis::ClockJury::judge(estimates, {left_out.get(), servers.size()});
  for (std::size_t i = 0; i < servers.size(); ++i) servers[i]->leave_out(left_out[i]);
}

Store::Health ClusterStore::health() const {
  Health health{.connected = nodes_.all_well(), .problems = nodes_.problems()};
  if (std::string trouble = half_moved_trouble(clock_.now_us()); !trouble.empty())
    health.problems.push_back(std::move(trouble));
  if (!epochs_refused_.empty()) health.problems.push_back(epochs_refused_);
  return health;
}

void ClusterStore::report(StoreReport& report) const {
  node_stats().add_to(report.metrics);
  nodes_.for_each([&](const Node& node) { report.servers.push_back(node.server->describe()); });
}

}  // namespace sluice

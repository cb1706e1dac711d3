#include <algorithm>
#include <iterator>
#include <utility>

#include "base/limits.h"
#include "store/redis/cluster/cluster_store.h"
#include "store/redis/script/wire.h"

// What ClusterStore does with calls that a node has redirected or refused.
namespace sluice {
namespace {

constexpr std::uint32_t kHopsAtOnce = 2;  // nodes that redirect a call to each other are about to agree
constexpr std::int64_t kWaitUsMin = 1'000, kWaitUsMax = 5'000;
constexpr std::int64_t kHalfMovedShownUs = 10'000'000;

}  // namespace

void ClusterStore::on_sent_away(RedisBackend& from, redis::ServerError kind, std::string_view reply,
                                std::span<StoreCall* const> calls) {
  using enum redis::ServerError;
  Node& node = nodes_.of_server(from);
  if (alone_) be_one_of_many();
  switch (kind) {
    case kCrossSlot:  // they were sent as to a server without slots; send them again, slot by slot
      for (StoreCall* call : calls)
        if (start(*call)) call->on_done();
      return;
    case kMoved:
    case kAsk:
      return follow(node, kind == kMoved, reply, calls);
    case kTryAgain:
      return on_half_moved(calls);
    case kReadOnly:
    case kMasterDown:
      refresh_timer_.hurry(clock_.now_us());
      for (Part* part : take_on(calls))
        if (hop(*part)) wait_a_little(*part);
      return;
    default:  // the cluster is down, or no node has the slot
      refresh_timer_.hurry(clock_.now_us());
      return fail(calls);
  }
}

// One key is never on two nodes: calls on a single key work if each is sent in its own command.
void ClusterStore::on_half_moved(std::span<StoreCall* const> calls) {
  if (calls.empty()) return;  // it was our probe
  half_moved_slot_ = slot_of_tag(calls[0]->charges[0].slot_tag);
  half_moved_at_us_ = clock_.now_us();
  moving_.set(half_moved_slot_);
  std::vector<StoreCall*> whole(calls.begin(), calls.end());
  const auto divisible = std::ranges::stable_partition(
      whole, [](const StoreCall* call) { return call->charges.size() == 1 || call->dedupe; });
  for (Part* part : take_on({whole.begin(), divisible.begin()})) {
    part->slot_is_moving = true;
    wait_a_little(*part);
  }
  start_key_by_key({divisible.begin(), divisible.end()});
}

void ClusterStore::start_key_by_key(std::span<StoreCall* const> calls) {
  std::vector<StoreCall*> keys;
  for (StoreCall* call : calls) {
    SplitCall* split = spare_split();
    if (split == nullptr) {
      shed(*call);
      continue;
    }
    ++stats_.split_by_key;
    split->begin(*call, *this, SplitCall::By::kKey);
    std::ranges::copy(split->begin_round(), std::back_inserter(keys));
    split->one_less();  // all are started below
  }
  start_by_map(std::move(keys));
}

std::string ClusterStore::half_moved_trouble(std::int64_t now_us) const {
  if (half_moved_at_us_ == 0 || now_us >= half_moved_at_us_ + kHalfMovedShownUs) return {};
  return "Redis Cluster: the keys of slot " + std::to_string(half_moved_slot_) +
         " are on two nodes; until its move ends, limits on it are charged one by one, and checks with a "
         "request_id are shed; if it does not end, run redis-cli --cluster check";
}

void ClusterStore::report_news(std::int64_t now_us) {
  if (!options_.node.on_news) return;
  const std::string trouble = half_moved_trouble(now_us);
  if (!half_moved_news_.is_news(trouble, now_us)) return;
  options_.node.on_news(
      trouble.empty() ? LogEvent::kRedisRecovered : LogEvent::kRedisSlotMoving,
      trouble.empty() ? "Redis Cluster: no slot's keys are on two nodes any more" : trouble);
}

void ClusterStore::follow(Node& from, bool moved, std::string_view reply, std::span<StoreCall* const> calls) {
  const std::int64_t now_us = clock_.now_us();
  if (moved) refresh_timer_.hurry(now_us);
  const auto redirect = redis::read_redirect(reply, from.here());
  Node* to = redirect ? nodes_.at(redirect->to, now_us) : nullptr;
  if (to == nullptr) return fail(calls);
  if (moved) nodes_.assign(redirect->slot, *to);
  std::vector<StoreCall*> at_once;
  for (Part* part : take_on(calls)) {
    if (!hop(*part)) continue;
    ++stats_.redirected;
    if (part->hops <= kHopsAtOnce) {
      at_once.push_back(part);
    } else {
      wait_a_little(*part);
    }
  }
  // A node that redirects to itself is not the one that we are connected to.
  if (moved && to == &from) from.server->reconnect("this address now belongs to another node");
  to->server->start_all(at_once, !moved);
}

// Calls that came straight from the caller become parts, which count their redirects.
std::vector<ClusterStore::Part*> ClusterStore::take_on(std::span<StoreCall* const> calls) {
  std::vector<Part*> parts;
  for (StoreCall* call : calls) {
    if (Part* part = dynamic_cast<Part*>(call)) {
      parts.push_back(part);
    } else if (SplitCall* split = spare_split()) {
      split->begin(*call, *this);
      std::ranges::copy(split->begin_round(), std::back_inserter(parts));
      split->one_less();  // it is started
    } else {
      shed(*call);
    }
  }
  return parts;
}

// The node that refused it has charged nothing.
void ClusterStore::shed(StoreCall& call) {
  leave_unanswered(call);
  call.verdict = Verdict::kShed;
  call.on_done();
}

// False: too many redirects; the part is answered.
bool ClusterStore::hop(Part& part) {
  if (++part.hops <= kRedisHopsMax) return true;
  ++stats_.redirected_too_often;
  StoreCall* call = &part;
  fail({&call, 1});
  return false;
}

void ClusterStore::fail(std::span<StoreCall* const> calls) {
  for (StoreCall* call : calls) {
    leave_unanswered(*call);
    deny_unanswered(*call);
    call->on_done();
  }
}

void ClusterStore::wait_a_little(Part& part) {
  const std::int64_t now_us = clock_.now_us();
  if (part.give_up_at_us == 0)
    part.give_up_at_us =
        part.deadline_us != 0 ? part.deadline_us : now_us + options_.node.operation_timeout_us;
  part.retry_at_us = now_us + kWaitUsMin + static_cast<std::int64_t>(random_(kWaitUsMax - kWaitUsMin + 1));
  part.retry_at_us = std::min(part.retry_at_us, part.give_up_at_us);
  ++stats_.tried_again;
  waiting_.push_back(&part);
}

void ClusterStore::resume_waiting(std::int64_t now_us) {
  std::vector<StoreCall*> due, too_late;
  std::erase_if(waiting_, [&](Part* part) {
    if (part->retry_at_us > now_us) return false;
    (part->give_up_at_us <= now_us ? too_late : due).push_back(part);
    return true;
  });
  fail(too_late);
  start_by_map(std::move(due));
}

// Calls for one node are started together.
void ClusterStore::start_by_map(std::vector<StoreCall*> calls) {
  const auto node_of = [&](const StoreCall* call) {
    return nodes_.of_slot(slot_of_tag(call->charges[0].slot_tag));
  };
  while (!calls.empty()) {
    Node* node = node_of(calls.front());
    const auto others =
        std::ranges::stable_partition(calls, [&](const StoreCall* call) { return node_of(call) == node; });
    const std::vector<StoreCall*> together(calls.begin(), others.begin());
    calls.erase(calls.begin(), others.begin());
    if (node != nullptr) {
      node->server->start_all(together, false);
    } else {
      stats_.without_node += together.size();
      fail(together);
    }
  }
}

}  // namespace sluice

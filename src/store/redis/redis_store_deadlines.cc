#include <algorithm>
#include <limits>
#include <utility>

#include "store/redis/redis_store.h"

// What RedisStore does as time passes: calls reach their deadlines, commands grow late, connections fall
// silent. The rule for silence is at the class; what is under way then is sent again, or not, by on_lost().
namespace sluice {

void RedisStore::expire_calls(std::int64_t now_us) {
  if (now_us < next_deadline_us_) return;
  std::vector<StoreCall*> expired;
  const std::size_t unsent = collect_expired(now_us, expired);
  if (unsent > 0) note_unsent(unsent, now_us);
  counters_.timeouts += expired.size();
  complete(expired);
}

// Calls whose time passed in the queue. If the server talks to us they are impatient; else they have failed.
void RedisStore::note_unsent(std::size_t calls, std::int64_t now_us) {
  if (!connection_.ready()) {
    if (problem_.empty()) note_problem("there is no connection", "none came about in time");
  } else if (silent_for_us(now_us) >= options_.operation_timeout_us) {
    note_problem("the server does not answer in time", "no reply");
  } else {
    return late_.add(calls, calls, now_us);
  }
  breaker_.record(false, calls, now_us);
}

// Returns how many of them were never sent: the last.
std::size_t RedisStore::collect_expired(std::int64_t now_us, std::vector<StoreCall*>& expired) {
  next_deadline_us_ = kNoDeadline;
  const auto look_at = [&](StoreCall*& call) {
    if (call == nullptr || call->deadline_us == 0) return;
    if (call->deadline_us > now_us) {
      next_deadline_us_ = std::min(next_deadline_us_, call->deadline_us);
      return;
    }
    expired.push_back(std::exchange(call, nullptr));
  };
  for (InFlight& command : in_flight_)
    if (command.batch) std::ranges::for_each(command.batch->calls(), look_at);
  const std::size_t were_sent = expired.size();
  for (std::deque<StoreCall*>* queue : {&queue_, &asking_queue_}) {
    std::ranges::for_each(*queue, look_at);
    while (!queue->empty() && queue->front() == nullptr) queue->pop_front();
  }
  return expired.size() - were_sent;
}

// A late reply will still come in its turn, unless the server has gone.
void RedisStore::expire_commands(std::int64_t now_us) {
  std::uint64_t late_checks = 0;
  std::vector<OnReply> unanswered;
  for (InFlight& command : in_flight_) {
    if (command.late || now_us < command.asked_at_us + command.patience_us) continue;
    command.late = true;
    if (command.on_reply) unanswered.push_back(std::exchange(command.on_reply, {}));
    if (!command.batch) continue;
    ++counters_.late_batches;
    late_checks += command.batch->size();
  }
  if (late_checks > 0) {
    note_problem("the server does not answer in time", "no reply");
    breaker_.record(false, late_checks, now_us);
  }
  questions_ -= unanswered.size();
  for (const OnReply& hear : unanswered) hear({});
  if (!in_flight_.empty() && silent_for_us(now_us) >= in_flight_.front().silence_us)
    connection_.drop("the server is silent");
  if (breaker_.closed() || (queue_.empty() && asking_queue_.empty())) return;
  std::vector<StoreCall*> failed;
  fail_queue(failed);
  complete(failed);
}

// While somebody waits for it. Replies come in order, so whoever waits longest waits for the very next.
std::int64_t RedisStore::silent_for_us(std::int64_t now_us) const {
  if (in_flight_.empty()) return 0;
  return now_us - std::max(in_flight_.front().asked_at_us, connection_.heard_at_us());
}

// The breaker is open: nobody in the queue will be asked for.
void RedisStore::fail_queue(std::vector<StoreCall*>& failed) {
  for (std::deque<StoreCall*>* queue : {&queue_, &asking_queue_}) {
    const std::vector<StoreCall*> waiting = take(*queue);
    counters_.turned_away += waiting.size();
    failed.insert(failed.end(), waiting.begin(), waiting.end());
  }
}

std::vector<StoreCall*> RedisStore::take(std::deque<StoreCall*>& queue) {
  std::vector<StoreCall*> taken(queue.begin(), queue.end());
  queue.clear();
  std::erase(taken, nullptr);
  return taken;
}

}  // namespace sluice

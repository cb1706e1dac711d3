#include <algorithm>
#include <limits>
#include <utility>

#include "store/redis/backend/redis_backend.h"

// What RedisBackend does as time passes: calls reach their deadlines, commands become late, connections fall
// silent. The rule for silence is at the class; on_lost() decides which calls in flight are sent again.
namespace sluice {
namespace {

constexpr std::int64_t kLookAgainUs = 1'000;        // at calls that wait although their own deadline is over
constexpr std::int64_t kOwnTimeUs = 1'000;          // what a check may take from its start to our queue
constexpr std::int64_t kPatienceUsMax = 2'000'000;  // however patient the callers are

bool is_over(std::int64_t deadline_us, std::int64_t now_us) {
  return deadline_us != 0 && deadline_us <= now_us;
}

}  // namespace

void RedisBackend::expire_calls(std::int64_t now_us) {
  if (now_us < next_deadline_us_) return;
  // An answer that has arrived is in time, even if our own loop was too busy to read it.
  if (connection_.ready()) connection_.poll();
  Expired expired;
  collect_expired(now_us, expired);
  note_failed(expired, now_us);
  leave_out_probe(expired.failed);
  stats_.timeouts += expired.failed.size();
  stats_.shed_caller_deadline += expired.shed.size();
  if (!expired.shed.empty()) health_.note_shed(expired.shed.size(), now_us);
  for (StoreCall* call : expired.shed) call->verdict = Verdict::kShed;
  complete(expired.failed);
  complete(expired.shed);
}

// What missed deadlines reveal about the server. Those that are shorter than slow_us reveal nothing.
void RedisBackend::note_failed(const Expired& expired, std::int64_t now_us) {
  if (expired.slow == 0 && expired.unsent == 0) return;
  const bool connected = connection_.ready();
  slowness_.note_silence(connected ? silent_for_us(now_us) : now_us - lost_at_us_, now_us);
  if (!connected) {
    if (!health_.has_problem()) health_.note_problem("not connected", "connect timed out");
    return;
  }
  health_.note_answers(expired.unsent, expired.unsent, now_us);
  if (expired.slow > 0)
    health_.note_problem("the server does not answer in time",
                         "replies take longer than the deadlines of checks");
  else if (slowness_.slower_than_us() != 0)
    health_.note_problem("the server does not answer in time", "no reply");
}

void RedisBackend::collect_expired(std::int64_t now_us, Expired& expired) {
  next_deadline_us_ = kNoDeadline;
  for (Command& command : in_flight_.commands()) {
    if (!command.batch) continue;
    for (StoreCall*& call : command.batch->calls()) {
      if (call == nullptr) continue;
      if (!is_over(call->deadline_us, now_us)) {
        // A caller that gives up before the policy's deadline says nothing about the server. The call gets no
        // answer, is not let through, and has no effect on others.
        if (is_over(call->caller_deadline_us, now_us))
          expired.shed.push_back(std::exchange(call, nullptr));
        else
          note_end_of(*call);
        continue;
      }
      ++command.missed;
      const std::int64_t time_us = call->deadline_us - command.asked_at_us - command.busy_us;
      if (time_us + kOwnTimeUs >= options_.slow_us) {
        ++expired.slow;
        command.missed_us = std::max({command.missed_us, time_us, options_.slow_us});
      }
      expired.failed.push_back(std::exchange(call, nullptr));
    }
  }
  for (FairQueue* queue : {&queue_, &asking_queue_})
    queue->remove_if([&](StoreCall& call) { return !stays_queued(call, now_us, expired); });
}

// Whether a call that was not sent yet keeps waiting: as long as the server answers others, and its caller
// has not given up.
bool RedisBackend::stays_queued(StoreCall& call, std::int64_t now_us, Expired& expired) {
  const std::int64_t time_us = call.deadline_us == 0 ? kNoDeadline : call.deadline_us - call.queued_at_us;
  const bool is_silent = !connection_.ready() || silent_for_us(now_us) >= time_us;
  if (is_silent && (is_over(call.deadline_us, now_us) || is_over(call.caller_deadline_us, now_us))) {
    ++expired.unsent;
    return expired.failed.push_back(&call), false;
  }
  if (is_over(call.caller_deadline_us, now_us)) return expired.shed.push_back(&call), false;
  std::int64_t due_us = call.deadline_us == 0 ? kNoDeadline : call.deadline_us;
  if (is_over(call.deadline_us, now_us))
    due_us = std::max(silent_since_us() + time_us, now_us + kLookAgainUs);
  if (call.caller_deadline_us != 0) due_us = std::min(due_us, call.caller_deadline_us);
  next_deadline_us_ = std::min(next_deadline_us_, due_us);
  return true;
}

// After how long a command without a reply counts as a failure: when nobody's check would wait any longer,
// within reason. What an impatient caller asks is no reason to give the server up for others.
std::int64_t RedisBackend::patience_us() const {
  return std::max(options_.operation_timeout_us, std::min(longest_deadline_.us(), kPatienceUsMax));
}

// A late reply will still come in its turn, unless the server is gone.
void RedisBackend::expire_commands(std::int64_t now_us) {
  std::uint64_t late_checks = 0;
  std::vector<OnReply> unanswered;
  for (Command& command : in_flight_.commands()) {
    if (command.late || now_us < command.asked_at_us + command.busy_us + patience_us()) continue;
    command.late = true;
    if (command.on_reply) unanswered.push_back(in_flight_.take_question(command));
    if (!command.batch) continue;
    ++stats_.late_batches;
    late_checks += command.batch->size();
  }
  if (late_checks > 0) {
    health_.note_problem("the server does not answer in time", "no reply");
    breaker_.record(false, late_checks, now_us);
  }
  for (const OnReply& hear : unanswered) hear({});
  drop_if_silent(now_us);
  if (breaker_.closed() || (queue_.empty() && asking_queue_.empty())) return;
  std::vector<StoreCall*> failed;
  fail_queue(failed);
  complete(failed);
}

// How long a connection may be silent. It is for those whose calls are in flight on it: half of their time is
// for the second try. A server that is far away needs its round trip.
std::int64_t RedisBackend::silence_us_max() const {
  const std::int64_t far_us = round_trip_us().value_or(connection_.login_us() / 2) * 2;
  std::int64_t patience_us = 0;
  for (const Command& command : in_flight_.commands())
    patience_us = std::max(patience_us, command.patience_us);
  return std::max(options_.operation_timeout_us,
                  std::min(std::max(patience_us / 2, far_us), kPatienceUsMax / 2));
}

void RedisBackend::drop_if_silent(std::int64_t now_us) {
  if (in_flight_.empty() || silent_for_us(now_us) < silence_us_max()) return;
  is_early_drop_ = now_us - unanswered_since_us_ < std::max(options_.operation_timeout_us, patience_us() / 2);
  connection_.drop("no reply from the server");
  is_early_drop_ = false;
}

// Only while a reply is awaited. Replies come in order, so the oldest command waits for the very next reply.
// While the server is busy with work that we know of, it is not silent.
std::int64_t RedisBackend::silent_since_us() const {
  const std::int64_t heard_at_us = connection_.heard_at_us();
  if (in_flight_.empty()) return heard_at_us;
  const Command& oldest = in_flight_.oldest();
  return std::max(oldest.asked_at_us + oldest.busy_us, heard_at_us + WorkInFlight::busy_us(oldest.work));
}

std::int64_t RedisBackend::silent_for_us(std::int64_t now_us) const {
  return in_flight_.empty() ? 0 : now_us - silent_since_us();
}

// The breaker is open: nothing in the queue will be sent.
void RedisBackend::fail_queue(std::vector<StoreCall*>& failed) {
  for (FairQueue* queue : {&queue_, &asking_queue_}) {
    const std::vector<StoreCall*> waiting = queue->take();
    stats_.turned_away += waiting.size();
    failed.insert(failed.end(), waiting.begin(), waiting.end());
  }
}

}  // namespace sluice

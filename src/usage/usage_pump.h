#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <string>

#include "base/clock.h"
#include "base/mutex.h"
#include "usage/batch/backlog.h"
#include "usage/event_encoder.h"
#include "usage/queue/event_queue.h"
#include "usage/sink.h"

namespace sluice::usage {

// Brings events from the loops' queues to the sink: encodes them, keeps them in order while the sink has no
// room, and drops the oldest when they are too many. turn(), is_empty() and lose_rest() belong to one thread,
// the rest is thread-safe.
//
//   loop ─► EventQueue ┐
//   loop ─► EventQueue ┴► EventEncoder ─► Backlog ─► UsageSink ─► server
class UsagePump {
 public:
  using Log = std::function<void(bool is_problem, const std::string& sentence)>;
  struct Parts {
    const Clock& clock;
    std::string node;           // as EventEncoder's
    const SecretRing* secrets;  // likewise
    std::size_t backlog_bytes;
    std::string name;  // of the sink, in messages
    Log log;
  };
  // Makes the sink, which gives back what it is done with.
  using MakeSink = std::function<std::unique_ptr<UsageSink>(UsageSink::OnDone)>;
  UsagePump(Parts parts, const MakeSink& make_sink);

  // A queue for one more loop. It lives as long as the pump.
  EventQueue& add_queue();

  // Moves what there is to move. Waits at most this long, for the sink.
  void turn(int timeout_ms);
  // Everything that was queued has been acknowledged, or dropped.
  bool is_empty() const { return is_empty_; }
  // All that is waiting is due now; for a node that stops.
  void hurry() { hurries_ = true; }

  // Events that are not acknowledged.
  std::size_t waiting() const;
  std::string metrics() const;
  // What an operator should know, a sentence; empty: nothing.
  std::string problem() const;

 private:
  struct Summary {
    std::uint64_t sent = 0, dropped = 0, failed = 0;
    std::size_t waiting = 0;  // in hand included
    std::string problem;
  };

  std::size_t drain_queues(std::int64_t now_us);
  void hand_over(std::int64_t now_us);
  void publish(std::int64_t now_us);
  void note_problem(const std::string& phrase, std::int64_t now_us);

  const Parts parts_;
  EventEncoder encoder_;
  Backlog backlog_;
  std::unique_ptr<UsageSink> sink_;
  QueuedEvent event_;
  std::size_t next_queue_ = 0;
  bool is_empty_ = true;
  bool hurries_ = false;
  std::int64_t trouble_since_us_ = 0;  // 0: none
  std::int64_t log_at_us_ = 0;         // not before
  bool has_complained_ = false;

  mutable Mutex mutex_;
  std::deque<EventQueue> queues_ SLUICE_GUARDED_BY(mutex_);  // each is used without the lock
  Summary summary_ SLUICE_GUARDED_BY(mutex_);
};

}  // namespace sluice::usage

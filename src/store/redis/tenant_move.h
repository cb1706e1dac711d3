#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "redis/connection.h"
#include "redis/resp.h"

namespace sluice {

struct TenantMoveOptions {
  struct End {
    redis::Transport& transport;
    redis::ConnectionOptions connection;  // needs no script
    std::string key_prefix = "rl:";
  };
  End source;
  std::optional<End> target;  // none: the counters are forgotten instead of moved
  std::uint32_t slot_tag = 0;
  std::int64_t reply_timeout_us = 5'000'000;  // a server that takes longer gets a new connection
  // Of an end's connections, failed attempts too; then the move stops.
  std::uint32_t losses_max = 20;
};

// Carries all counters with one slot tag, request ids included, from one Redis or Valkey server to another.
// Not thread-safe.
//
//   TenantMove move({.source = {transport, a}, .target = {{transport, b}}, .slot_tag = tag}, clock, random);
//   while (move.state() == TenantMove::State::kRunning) … move.tick(clock.now_us());  // every few ms
//
// Batch by batch: finds names at the source (SCAN), reads them, writes them to the target unless the target
// has such a key already (NX), and removes from the source what was written. At any moment it may be stopped
// (destroyed) and started anew: what was moved stays moved, the rest is found again.
//
// When to do it. First every node sends the tenant's checks to the target, then the move runs. A counter that
// is charged at the target before its past arrives keeps its new value: its past stays at the source
// ("already there") until it expires. So does that of a copy whose answer was lost. What is still charged at
// the source after it was read is not carried over. Before a tenant moves to a place where it was before,
// have that place forget it (no target), or such leftovers would count as its past.
//
// Two tenants can have the same slot tag (18 bits); they move together, so place them together. The states
// are in the time of the server's clock: what the clocks of the two differ by, limits are early or late once.
// Either end is one server: in a cluster a tag's node has to be asked for, and that is not done here; a node
// that says MOVED stops the move.
class TenantMove {
 public:
  using Random = redis::Connection::Random;
  enum class State : std::uint8_t { kRunning, kDone, kStopped };

  // Keys so far; only grows. What is found again after a connection was lost counts again.
  struct Progress {
    std::uint64_t found = 0;          // at the source
    std::uint64_t moved = 0;          // without a target: removed
    std::uint64_t already_there = 0;  // the target has one of that name; untouched, here and there
    std::uint64_t gone = 0;           // expired, or removed by others, before they were read
    std::uint64_t foreign = 0;        // not strings, so not ours; untouched
    std::uint64_t failed = 0;         // the target did not take them; still at the source
  };

  // REQUIRES: the clock and the transports outlive it. Connects at the first tick().
  TenantMove(TenantMoveOptions options, const Clock& clock, const Random& random);
  ~TenantMove();

  void tick(std::int64_t now_us);

  State state() const { return state_; }
  const Progress& progress() const { return progress_; }
  // Whether it stopped for the target's sake, which is gone or does not take what it is given, and not for
  // the source's.
  bool target_failed() const { return target_failed_; }
  // Why it stopped, and what to do: a sentence. Empty unless kStopped.
  const std::string& problem() const { return problem_; }

 private:
  enum class Step : std::uint8_t { kScan, kRead, kWrite, kRemove };
  class Side;
  struct Key {
    std::string name;
    std::string value;
    std::int64_t ttl_ms = 0;
    bool readable = false;
    bool to_remove = false;
  };

  Side& side_in_use();
  void proceed();
  std::size_t append_commands(std::string& out) const;
  std::size_t to_remove() const;

  void on_reply(std::span<const redis::RespValue> reply);
  void on_lost(Side& side, std::string_view why);
  void read_scan(std::span<const redis::RespValue> reply);
  void read_key(Key& key, const redis::RespValue& reply);
  void read_write(Key& key, const redis::RespValue& reply);
  void read_removal(const redis::RespValue& reply);
  void finish_step();
  void begin_batch();
  void note_error(const redis::RespValue& reply);
  void stop(const Side& culprit, std::string_view why);

  const TenantMoveOptions options_;
  const Clock& clock_;
  const std::string pattern_;  // of the names
  std::unique_ptr<Side> source_, target_;
  State state_ = State::kRunning;
  Step step_ = Step::kScan;
  std::size_t unanswered_ = 0;  // commands of this step
  std::int64_t reply_due_us_ = 0;
  std::string cursor_ = "0";  // of SCAN
  bool scanned_all_ = false;
  std::vector<std::string> found_;  // not yet in a batch
  std::vector<Key> batch_;
  std::size_t settled_ = 0;  // so many of the batch have been written, or refused
  std::string error_;        // the first
  const Side* error_of_ = nullptr;
  Progress progress_;
  bool target_failed_ = false;
  std::string problem_;
};

}  // namespace sluice

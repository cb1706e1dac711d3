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
#include "redis/connection/connection.h"
#include "redis/protocol/resp.h"

namespace sluice {

struct TenantMoveOptions {
  struct End {
    redis::Transport& transport;
    redis::ConnectionOptions connection;  // TenantMove sets its script
    std::string key_prefix = "rl:";
    std::string cell;  // its name in the records
  };
  enum class Kind : std::uint8_t {
    kCarry,   // from the source to the target
    kForget,  // remove what is left at the source, and record that the tenant has left; no target
    kSettle,  // record that the tenant lives at the source, whatever was before; no target, nothing moves
  };
  Kind kind = Kind::kCarry;
  End source;
  std::optional<End> target;
  std::uint32_t slot_tag = 0;  // with the owner's bits, see wire.h
  std::string tenant;          // for the records; empty: they do not say where the tenant lives
  // The least number for this move. REQUIRES: more than 1 only if the caller knows that the tenant has lived
  // at the source since the move before, or that it may start from scratch.
  std::uint32_t number = 1;
  std::string move_id;  // kForget: the move by which it left; empty: it leaves now, whatever was before
  std::string gone_to;  // kForget: the cell where it lives
  std::int64_t reply_timeout_us = 5'000'000;  // a slower server gets a new connection
  // Lost connections per end, failed attempts included; after that the move stops.
  std::uint32_t losses_max = 20;
};

// Moves all counters of one tenant, request ids included, from one Redis or Valkey server to another, while
// any number of nodes keep checking. Not thread-safe.
//
//   TenantMove move({.source = {transport, a}, .target = {{transport, b}}, .slot_tag = tag}, clock, random);
//   while (move.state() == TenantMove::State::kRunning) … move.tick(clock.now_us());  // every few ms
//
// The promise: used units stay used. At no moment can the same units be had at both ends, whichever nodes
// have heard of the move, and whichever process dies when. What cannot be decided is denied, for some
// milliseconds.
//
// How it works. Each server has a hash, `rl:moves`, with a record for every tenant that is moving or has
// moved. The check script reads it in the same atomic step in which it charges (moves.lua), so a node need
// not know of the move to obey it. A record is in one of these states:
//
//   at the source                              at the target
//   -  no record, or o: it lives here          -  no record, or one of an earlier move
//   c  copying: checks are charged here, and   a  arriving: refused
//      each key that they write is noted in
//      a journal
//   f  frozen: refused                         a  the keys in the journal are copied once more
//   f                                          o  open: checks are charged here, it lives here
//   x  gone: refused, for good                 o
//
// "Refused" is TENANTMOVING: nothing is charged, and the engine denies with `tenant_moving`. The steps are
// taken in this order, each after the previous one was answered:
//
//   claim (c) · arrive (a) · copy what SCAN finds · freeze (f) · copy what the journal names ·
//   open (o) · close (x). Later, separately (kForget): remove what is left at the source.
//
// So the tenant is refused from the freeze until a node's checks go to the target, however many keys the
// source has. The cases that decide whether this is right:
//
// - A node that has not heard of the move checks at the source: its checks are charged and noted, then
//   refused until it has heard. `x` stays until the tenant comes back: a node with old settings never starts
//   new counters.
// - A node that has heard too early checks at the target, and is refused until it opens. A node that starts
//   with the new settings before the move has begun finds no `o` at the tenant's server, asks the other
//   servers, and begins the move itself (CellHomes).
// - Two movers: the record names its owner, for 10 s at a time (by the server's clock), renewed with every
//   batch. Other movers wait. After a mover was late, the next one takes over the same move and copies
//   everything again. The late mover's steps no longer change anything, because each step names its owner:
//   `write` and `open` at the target, and all steps at the source. A copy whose lease has expired is void:
//   its journal is dropped, and the tenant lives at the source as before.
// - The mover dies in `c`: after 10 s it is as if nothing had happened. In `f`: the tenant is refused until
//   another mover takes over, which knows from the target's record whether it was opened. A node that starts
//   finds `a` at the tenant's server, and continues the move (MoveRecords).
// - The target is lost before `open` was sent: the source is released, and the tenant lives there as before.
//   After that the outcome is not known; the source stays frozen until the target answers. It is released
//   only by a mover that has heard from the target that it is not open.
// - The source is lost: the move stops, and waits. The target is not opened without everything that the
//   source has. Once the target has said that it is open, the move is done, whatever the source says.
// - A server goes back in time (an old dump, a failover that lost writes). The moves of a tenant are
//   numbered, and each record has the number of its move. If two records disagree, the higher number is
//   right; with equal numbers, `o` is. A source that does not know that the tenant has left cannot overwrite
//   it at the target: `arrive` answers "later", and the source is told that the tenant has left. If the
//   source forgets before the target is open, the move begins again with what the source has (`raise`). If
//   the target forgets, everything is copied once more, as long as the source has it (`reclaim`); else the
//   move stops and says so (kForgotten).
// - A source that the tenant has left for another cell, or has not reached yet, says where the counters are:
//   elsewhere(). If they are frozen on their way to another cell, that move must finish first: unfinished().
// - A refund or reset during the freeze is refused and has no effect. A reset during the copy resets the
//   source only: less is given away than was meant. A repeated request finds its record where the tenant
//   lives. A charge at the source that was not answered in time has been noted like all others.
//
// What the target counted before the move is overwritten. Times in the states are by the server's clock: if
// the two clocks differ, limits are early or late by the difference, once. Each end is a single server.
// Clusters are not supported: finding the node of a tag is not done here, and a node that answers MOVED stops
// the move.
class TenantMove {
 public:
  using Random = redis::Connection::Random;
  enum class State : std::uint8_t { kRunning, kDone, kStopped };
  enum class Culprit : std::uint8_t {
    kNobody,
    kSource,   // is gone
    kRefusal,  // the source answers with errors: we lack rights, or it is loading its data
    kTarget,   // is gone, or refuses what it is given
    kAnother,  // mover is active, or was faster; try again
    kRecords,  // say that the tenant's counters are elsewhere, or on their way there
    // The target went back to a time when counters were arriving, and the source no longer has them.
    kForgotten,
  };

  // Keys so far; only grows. Keys that are found again after a lost connection count again.
  struct Progress {
    std::uint64_t found = 0;    // at the source
    std::uint64_t moved = 0;    // without a target: removed
    std::uint64_t again = 0;    // copied once more during the freeze
    std::uint64_t gone = 0;     // expired, or removed by others, before they were read
    std::uint64_t foreign = 0;  // not strings, so not ours; untouched
  };

  // REQUIRES: the clock and the transports outlive it. Connects at the first tick().
  TenantMove(TenantMoveOptions options, const Clock& clock, const Random& random);
  ~TenantMove();

  void tick(std::int64_t now_us);

  State state() const { return state_; }
  const Progress& progress() const { return progress_; }
  // Why it stopped. kAnother when it is done: another mover has moved the tenant.
  Culprit culprit() const { return culprit_; }
  // Why it stopped, and what to do, in a sentence. Empty unless kStopped.
  const std::string& problem() const { return problem_; }
  // The move by which the tenant has left; for kForget.
  const std::string& move_id() const { return move_id_; }
  std::uint32_t number() const;  // the same
  // Whether the source has reported the state of its record.
  bool has_heard() const { return has_heard_; }
  // kRecords: the cell that has the counters; empty: none is known.
  const std::string& elsewhere() const { return elsewhere_; }
  // kRecords: the cell for which the source has frozen them; empty: none.
  const std::string& unfinished() const { return unfinished_; }
  // Whether the source must not decide any more, whatever it answers.
  bool is_frozen() const { return frozen_; }
  // Whether it is not known if the target is open: the move must be retried, and cannot be cancelled.
  bool is_in_doubt() const {
    return may_be_open_ && state_ == State::kStopped && culprit_ != Culprit::kRecords;
  }

 private:
  enum class Step : std::uint8_t {
    kClaim,
    kArrive,
    kScan,
    kRead,
    kWrite,
    kFreeze,
    kJournal,
    kOpen,
    kClose,
    kRelease,
    kRemove,
    kLeave,
    kSettle,
    kLook,
    kReclaim,
    kRaise,
  };
  class Side;
  // What a step reports about the record.
  struct Told {
    std::string_view word, move, cell, owner, state;
  };
  struct Key {
    std::string name;
    std::string value;
    std::int64_t ttl_ms = 0;
    bool readable = false;
    bool is_gone = false;
  };

  Side& side_in_use();
  void proceed();
  std::size_t append_commands(std::string& out);
  void append_step(std::string& out, std::string_view operation, const std::vector<std::string>& more = {});
  std::size_t append_reads(std::string& out);

  void on_reply(std::span<const redis::RespValue> reply);
  void on_lost(Side& side, std::string_view why);
  static Told told_by(std::span<const redis::RespValue> reply);
  void read_record(const Told& told);
  void read_claim(const Told& told);
  void read_look(const Told& told);
  void read_later(const Told& told);
  void found_elsewhere(std::string_view cell);
  void done_by_another();
  void read_names(std::span<const redis::RespValue> reply);
  void read_key(Key& key, const redis::RespValue& reply);
  void finish_step();
  void begin_batch();
  void note_error(const redis::RespValue& reply);
  void stop(Culprit culprit, std::string_view why);

  const TenantMoveOptions options_;
  const Clock& clock_;
  const std::string owner_letters_;  // in the names of the tenant's keys
  const std::string owner_id_;       // ours, as the owner of the move
  const std::string pattern_;        // of the keys' names
  std::string move_id_;
  std::unique_ptr<Side> source_, target_;
  State state_ = State::kRunning;
  Step step_ = Step::kClaim;
  std::size_t unanswered_ = 0;  // commands of this step
  std::int64_t reply_due_us_ = 0;
  std::string cursor_ = "0";  // of SCAN or SSCAN
  bool scanned_all_ = false;
  bool claimed_ = false;
  bool frozen_ = false;            // since we, or a mover before us, sent the freeze
  bool reads_journal_ = false;     // instead of SCAN
  bool may_be_open_ = false;       // the target: `open` was sent and not answered
  bool is_forgotten_ = false;      // the keys left at the source are removed
  std::optional<Step> next_step_;  // if it is not the usual one
  std::string elsewhere_, unfinished_;
  bool has_heard_ = false;
  bool is_raised_ = false;          // our number, above that of a record of the target
  std::vector<std::string> found_;  // keys that are not yet in a batch
  std::vector<Key> batch_;
  std::string error_;  // the first
  Culprit error_of_ = Culprit::kNobody;
  Progress progress_;
  Culprit culprit_ = Culprit::kNobody;
  std::string problem_;
};

}  // namespace sluice

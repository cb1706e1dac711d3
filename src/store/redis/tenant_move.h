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
    redis::ConnectionOptions connection;  // its script is set here
    std::string key_prefix = "rl:";
    std::string cell;  // the name that the records have for it
  };
  enum class Kind : std::uint8_t {
    kCarry,   // from the source to the target
    kForget,  // what is left at the source is removed, and it does not live there any more; no target
    kSettle,  // from now on the tenant lives at the source, whatever was; no target, nothing is moved
  };
  Kind kind = Kind::kCarry;
  End source;
  std::optional<End> target;
  std::uint32_t slot_tag = 0;  // with the owner's bits, see wire.h
  std::string tenant;          // for the records
  // Which move of this tenant it is, at least. REQUIRES: more than 1 only if the caller knows that the tenant
  // lives at the source since the move before that one, or that it may begin anew.
  std::uint32_t number = 1;
  std::string move_id;  // kForget: by which it has gone; empty: it goes now, whatever was
  std::string gone_to;  // kForget: the cell where it lives
  std::int64_t reply_timeout_us = 5'000'000;  // a server that takes longer gets a new connection
  // Of an end's connections, failed attempts too; then the move stops.
  std::uint32_t losses_max = 20;
};

// Carries all counters of one tenant, request ids included, from one Redis or Valkey server to another, while
// any number of nodes check. Not thread-safe.
//
//   TenantMove move({.source = {transport, a}, .target = {{transport, b}}, .slot_tag = tag}, clock, random);
//   while (move.state() == TenantMove::State::kRunning) … move.tick(clock.now_us());  // every few ms
//
// The promise: what was used stays used. At no moment can the same units be had at both ends, whichever nodes
// have heard of the move, and whoever dies when. What cannot be decided is denied, for some milliseconds.
//
// How. Each server has a hash, `rl:moves`, with a record for every tenant that is or was on its way. The
// check script reads it in the same step in which it charges (moves.lua), so a node need not know of the move
// to obey it. A record is in one of these states:
//
//   at the source                              at the target
//   -  no record, or o: it lives here          -  no record, or one of an earlier move
//   c  it is copied: checks are charged here,  a  it arrives: refused
//      and each key that they write is noted
//      in a journal
//   f  frozen: refused                         a  what the journal names is copied once more
//   f                                          o  open: checks are charged here, it lives here
//   x  gone: refused, for good                 o
//
// "Refused" is TENANTMOVING: nothing is charged, and the engine denies with `tenant_moving`. The steps are
// taken in this order, each after the one before was answered:
//
//   claim (c) · arrive (a) · copy what SCAN finds · freeze (f) · copy what the journal names ·
//   open (o) · close (x). Later, apart from it (kForget): remove what is left at the source.
//
// So the tenant is refused from the freeze until the checks of a node follow, however many keys the source
// has. The questions that decide whether this is right:
//
// - A node that has not heard of the move checks at the source: charged and noted, then refused, for as long
//   as it has not heard. `x` stays until the tenant comes back: a node with old settings never counts anew.
// - A node that has heard too early checks at the target, and is refused until it opens. One that is started
//   with the new settings before anybody began the move finds no `o` where it looks for the tenant, asks the
//   other servers, and begins the move itself (CellHomes).
// - Two movers: the record names its owner, for 10 s at a time (by the server's clock), renewed with every
//   batch. Others wait. A mover that was late is followed by the next, which takes the same move over and
//   copies all anew; the late one's steps change nothing any more, because each says whose it is: `write` and
//   `open` at the target as well as all at the source. A copy whose lease has run out is no copy: its journal
//   is given up, and the tenant lives at the source as before.
// - The mover dies in `c`: after 10 s it is as if nothing had been. In `f`: the tenant is refused until a
//   mover takes over, which knows by the target's record whether it was opened. Whoever starts finds `a`
//   where it looks for the tenant, and goes on (MoveRecords).
// - The target goes before `open` was sent: the source is released, and the tenant lives there as before.
//   After that nobody knows; the source stays frozen until the target answers. Only who has heard from the
//   target that it is not open releases what was frozen.
// - The source goes: the move stops, and waits. Nothing is opened without all that the source has. Once the
//   target has said that it is open, the move is done, whatever the source says.
// - A server goes back in time (an old dump, a failover that lost writes). The moves of a tenant are
// numbered,
//   and each record has the number of its move: of two that disagree the higher one is right, and of equal
//   ones `o`. A source that does not know that the tenant has gone cannot overwrite it at the target:
//   `arrive` says "later", and the source is told that it has gone. A source that forgets before the target
//   is open begins anew, with what it has (`raise`). A target that forgets gets all once more, as long as
//   that is there
//   (`reclaim`); else the move stops and says so (kForgotten).
// - A source from which the tenant has gone elsewhere, or to which it has not come yet, says where its
//   counters are: elsewhere(). What is frozen on its way to another cell must get there first: unfinished().
// - A refund, or a reset, during the freeze is refused; it has no effect. A reset during the copy is one at
//   the source only: less is given away than was meant. A repeated request finds its record where the tenant
//   lives. What was charged at the source and not answered in time has been noted like all else.
//
// What the target counted before the move is overwritten. The states are in the time of the server's clock:
// what the clocks of the two differ by, limits are early or late once. Either end is one server: in a cluster
// a tag's node has to be asked for, and that is not done here; a node that says MOVED stops the move.
class TenantMove {
 public:
  using Random = redis::Connection::Random;
  enum class State : std::uint8_t { kRunning, kDone, kStopped };
  enum class Culprit : std::uint8_t {
    kNobody,
    kSource,   // is gone
    kRefusal,  // the source is there and answers with errors: it lacks rights, or is loading its data
    kTarget,   // is gone, or does not take what it is given
    kAnother,  // mover is at it, or was faster; try again
    kRecords,  // say that the tenant's counters are elsewhere, or on their way there
    // The target went back to a time at which counters were arriving, and the source has no more of them.
    kForgotten,
  };

  // Keys so far; only grows. What is found again after a connection was lost counts again.
  struct Progress {
    std::uint64_t found = 0;    // at the source
    std::uint64_t moved = 0;    // without a target: removed
    std::uint64_t again = 0;    // once more, while it was frozen
    std::uint64_t gone = 0;     // expired, or removed by others, before they were read
    std::uint64_t foreign = 0;  // not strings, so not ours; untouched
  };

  // REQUIRES: the clock and the transports outlive it. Connects at the first tick().
  TenantMove(TenantMoveOptions options, const Clock& clock, const Random& random);
  ~TenantMove();

  void tick(std::int64_t now_us);

  State state() const { return state_; }
  const Progress& progress() const { return progress_; }
  // Whose fault it is that it stopped. kAnother when it is done: another mover has carried the tenant.
  Culprit culprit() const { return culprit_; }
  // Why it stopped, and what to do: a sentence. Empty unless kStopped.
  const std::string& problem() const { return problem_; }
  // By which the tenant has gone; for kForget.
  const std::string& move_id() const { return move_id_; }
  std::uint32_t number() const;  // the same
  // Whether the source has said how it is there.
  bool has_heard() const { return has_heard_; }
  // kRecords: the cell that has the counters; empty: none is known.
  const std::string& elsewhere() const { return elsewhere_; }
  // kRecords: the cell to which the source has frozen them; empty: none.
  const std::string& unfinished() const { return unfinished_; }
  // Whether the source must not be asked for decisions any more, whatever it says.
  bool is_frozen() const { return frozen_; }
  // Whether nobody knows if the target is open: it must be tried again, and cannot be called off.
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
  // What a step says of the record.
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
  const std::string owner_letters_;  // of the tenant's keys
  const std::string owner_id_;       // ours
  const std::string pattern_;        // of the names
  std::string move_id_;
  std::unique_ptr<Side> source_, target_;
  State state_ = State::kRunning;
  Step step_ = Step::kClaim;
  std::size_t unanswered_ = 0;  // commands of this step
  std::int64_t reply_due_us_ = 0;
  std::string cursor_ = "0";  // of SCAN, or of SSCAN
  bool scanned_all_ = false;
  bool claimed_ = false;
  bool frozen_ = false;            // since we, or a mover before us, asked for it
  bool reads_journal_ = false;     // instead of searching
  bool may_be_open_ = false;       // the target: nobody has told us
  bool is_forgotten_ = false;      // what was left at the source
  std::optional<Step> next_step_;  // unless it is the usual one
  std::string elsewhere_, unfinished_;
  bool has_heard_ = false;
  bool is_raised_ = false;          // our number, above that of a record of the target
  std::vector<std::string> found_;  // not yet in a batch
  std::vector<Key> batch_;
  std::string error_;  // the first
  Culprit error_of_ = Culprit::kNobody;
  Progress progress_;
  Culprit culprit_ = Culprit::kNobody;
  std::string problem_;
};

}  // namespace sluice

#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/limits/switch_limits.h"
#include "base/log/log_event.h"
#include "base/mutex.h"
#include "control/ledger_follower.h"

namespace sluice::control {

// Changes that are already in force but not yet written to the ledger: what an operator does in an emergency
// must not wait for the database, and must not be lost. Thread-safe, except for write(), which belongs to the
// control plane's thread.
//
//   outbox.post(change);                                  // any thread; at once
//   plane.submit([&](LedgerFollower& r) { outbox.write(r); });  // and again every second
//
// Changes are written in order, each once, as soon as the database accepts them. A change that the database
// can never accept is logged and dropped. Waiting changes are kept in a file of the state folder, for the
// next run of the process. Before an answer, call save() or write(): then what it confirms is on disk, here
// or in the database.
//
// Other nodes may write newer changes while one waits. So the poster may revise a change just before it is
// written, against the state that it is written to.
class Outbox {
 public:
  // Returns the change to write instead; none: write the change as it is. Called on the control plane's
  // thread.
  using Revise = std::function<std::optional<ledger::Change>(const ledger::Change& change)>;
  // `of` identifies the ledger; each ledger has its own file. An empty folder: there is no file.
  Outbox(const Clock& clock, EventLog log, const std::string& state_dir = "", const std::string& of = "");
  Outbox(const Outbox&) = delete;
  Outbox& operator=(const Outbox&) = delete;

  // An empty request id is filled in, so that a retry does not write the change twice. Texts that the ledger
  // would refuse are repaired: what was done must be recorded. If kOutboxMax changes are waiting, the new one
  // is dropped; but a command of the switch, of which the newest counts, replaces the oldest one instead.
  // The log says what was dropped.
  void post(ledger::Change change, Revise revise = {});

  // Writes waiting changes until the database refuses one. Then it pauses for a while and saves the rest.
  void write(LedgerFollower& follower);
  // When it returns, what waits now is in the file and survives kill -9; if there is no folder, or the file
  // cannot be written, problem() says so. May block for as long as the disk does.
  void save();
  // A sentence for /readyz: changes wait for the database and are nowhere but in memory. Empty: there are
  // none, or they are in the file.
  std::string problem() const;
  // Changes that the last run of the process left behind, to be posted again. Call it once, before write().
  std::vector<ledger::Change> take_up();

  std::size_t waiting() const;
  // Resets may be numerous, so they get only half of the room; the other half is for the switch. A reset can
  // wait for a database or a disk; the switch cannot.
  bool can_keep_resets() const { return waiting() < kOutboxMax / 2 && problem().empty(); }
  std::string metrics() const;  // in Prometheus' text format

 private:
  struct Letter {
    ledger::Change change;
    Revise revise;  // empty: the change is written as it is
  };

  // Removes the oldest waiting command of the switch, but not the first letter, which is being written.
  std::optional<Letter> take_oldest_command() SLUICE_REQUIRES(mutex_);
  bool write_first(LedgerFollower& follower);
  static Result<std::vector<ledger::Record>> write_letter(LedgerFollower& follower, Letter& letter);

  const Clock& clock_;
  const EventLog log_;
  const std::string path_;  // of the file; empty: there is none
  mutable Mutex mutex_;
  std::deque<Letter> letters_ SLUICE_GUARDED_BY(mutex_);
  std::uint64_t changes_ SLUICE_GUARDED_BY(mutex_) = 0;  // how often letters_ has changed
  std::string not_saved_ SLUICE_GUARDED_BY(mutex_);      // why the file could not be written; empty: it was
  std::int64_t next_try_us_ = 0;                         // used only by the control plane's thread
  bool failed_ = false;                                  // used only by the control plane's thread

  Mutex saving_;                                        // held while the file is written; before mutex_
  bool has_file_ SLUICE_GUARDED_BY(saving_) = false;    // there may be one
  std::uint64_t saved_ SLUICE_GUARDED_BY(saving_) = 0;  // the value of changes_ that the file holds
};

}  // namespace sluice::control

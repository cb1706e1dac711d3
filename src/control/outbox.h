#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/limits/switch_limits.h"
#include "control/outbox_file.h"
#include "control/registry.h"

namespace sluice::control {

// Changes that are already in force but not yet written to the ledger: what an operator does in an emergency
// must not wait for the database, and must not be lost. Thread-safe, except for write(), which belongs to the
// control plane's thread.
//
//   outbox.post(change);                                  // any thread; at once
//   plane.submit([&](Registry& r) { outbox.write(r); });  // and again every second
//
// Changes are written in order, each once, as soon as the database accepts them. A change that the database
// can never accept is logged and dropped. Waiting changes are kept in a file, for the next run of the
// process.
//
// Other nodes may write newer changes while one waits. So the poster may revise a change just before it is
// written, against the state that it is written to.
class Outbox {
 public:
  // Returns the change to write instead; none: write the change as it is. Called on the control plane's
  // thread.
  using Revise = std::function<std::optional<ledger::Change>(const ledger::Change& change)>;
  using Log = std::function<void(bool is_problem, const std::string& sentence)>;
  Outbox(const Clock& clock, Log log, OutboxFile file = {"", ""})
      : clock_(clock), log_(std::move(log)), file_(std::move(file)) {}
  Outbox(const Outbox&) = delete;
  Outbox& operator=(const Outbox&) = delete;

  // An empty request id is filled in, so that a retry does not write the change twice. If kOutboxMax changes
  // are waiting, the new one is dropped and the log says so.
  void post(ledger::Change change, Revise revise = {});

  // Writes waiting changes until the database refuses one. Then it pauses for a while and saves the rest to
  // the file.
  void write(Registry& registry);
  // Changes that the last run of the process left behind, to be posted again. Call it once, before write().
  std::vector<ledger::Change> take_up();

  std::size_t waiting() const;
  // Resets may be numerous, so they get only half of the room; the other half is for the switch.
  bool has_room_for_resets() const { return waiting() < kOutboxMax / 2; }

 private:
  struct Letter {
    ledger::Change change;
    Revise revise;  // empty: the change is written as it is
  };

  bool write_first(Registry& registry);
  void keep();
  static Result<std::vector<ledger::Record>> write_letter(Registry& registry, Letter& letter);

  const Clock& clock_;
  const Log log_;
  const OutboxFile file_;
  mutable std::mutex mutex_;
  std::deque<Letter> letters_;    // guarded by mutex_
  std::uint64_t changes_ = 0;     // how often letters_ has changed; guarded by mutex_
  std::int64_t next_try_us_ = 0;  // used only by the control plane's thread
  bool failed_ = false;           // used only by the control plane's thread
  // About the file; used only by the control plane's thread.
  bool has_file_ = false;
  bool keeping_failed_ = false;
  std::uint64_t kept_ = 0;  // the value of changes_ that the file holds
  std::int64_t next_keep_us_ = 0;
};

}  // namespace sluice::control

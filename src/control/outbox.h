#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/switch_limits.h"
#include "control/outbox_file.h"
#include "control/registry.h"

namespace sluice::control {

// Changes that are in force already and are still to be written: what an operator does in an emergency must
// not wait for the database, and must not be forgotten either. Thread-safe, but for write(), which belongs to
// the control plane's thread.
//
//   outbox.post(change);                                  // any thread; at once
//   plane.submit([&](Registry& r) { outbox.write(r); });  // and again every second
//
// They are written in order, each once, as soon as the database takes them. What the database will never take
// is logged and left out. What has to wait is kept in a file meanwhile, for the next run of the process.
//
// What waited may have been overtaken by what others wrote meanwhile. So whoever posts may have a look at his
// change once more, on the very state that it is written to, and write something else instead.
class Outbox {
 public:
  // What is to be written instead; none: the change is good as it is. Called by the control plane's thread.
  using Revise = std::function<std::optional<ledger::Change>(const ledger::Change& change)>;
  using Log = std::function<void(bool is_problem, const std::string& sentence)>;
  Outbox(const Clock& clock, Log log, OutboxFile file = {"", ""})
      : clock_(clock), log_(std::move(log)), file_(std::move(file)) {}
  Outbox(const Outbox&) = delete;
  Outbox& operator=(const Outbox&) = delete;

  // The request id may be empty; it gets one, so that a second attempt does not write it twice. Of more than
  // kOutboxMax the new one is not kept, and the log says so.
  void post(ledger::Change change, Revise revise = {});

  // Writes what waits, until the database refuses; then it is left alone for a while, and what waits is kept.
  void write(Registry& registry);
  // What the last run of the process has left, to be posted again. To be called once, before write().
  std::vector<ledger::Change> take_up();

  std::size_t waiting() const;
  // Anybody may make many of these; the other half is for the switch.
  bool has_room_for_resets() const { return waiting() < kOutboxMax / 2; }

 private:
  struct Letter {
    ledger::Change change;
    Revise revise;  // empty: it stays as it is
  };

  bool write_first(Registry& registry);
  void keep();
  static Result<std::vector<ledger::Record>> write_letter(Registry& registry, Letter& letter);

  const Clock& clock_;
  const Log log_;
  const OutboxFile file_;
  mutable std::mutex mutex_;
  std::deque<Letter> letters_;    // guarded by mutex_
  std::uint64_t changes_ = 0;     // of letters_; guarded by mutex_
  std::int64_t next_try_us_ = 0;  // of the control plane's thread
  bool failed_ = false;           // of the control plane's thread
  // Of the control plane's thread, about the file.
  bool has_file_ = false;
  bool keeping_failed_ = false;
  std::uint64_t kept_ = 0;  // the number of changes_ that it is as of
  std::int64_t next_keep_us_ = 0;
};

}  // namespace sluice::control

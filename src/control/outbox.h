#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <mutex>
#include <string>

#include "base/clock.h"
#include "base/switch_limits.h"
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
// is logged and left out. A process that ends takes along what waits: the log has it.
class Outbox {
 public:
  using Log = std::function<void(bool is_problem, const std::string& sentence)>;
  Outbox(const Clock& clock, Log log) : clock_(clock), log_(std::move(log)) {}
  Outbox(const Outbox&) = delete;
  Outbox& operator=(const Outbox&) = delete;

  // The request id may be empty; it gets one, so that a second attempt does not write it twice. Of more than
  // kOutboxMax the new one is not kept, and the log says so.
  void post(ledger::Change change);

  // Writes what waits, until the database refuses; then it is left alone for a while.
  void write(Registry& registry);

  std::size_t waiting() const;
  // Anybody may make many of these; the other half is for the switch.
  bool has_room_for_resets() const { return waiting() < kOutboxMax / 2; }

 private:
  bool write_first(Registry& registry);

  const Clock& clock_;
  const Log log_;
  mutable std::mutex mutex_;
  std::deque<ledger::Change> changes_;  // guarded by mutex_
  std::int64_t next_try_us_ = 0;        // of the control plane's thread
  bool failed_ = false;                 // of the control plane's thread
};

}  // namespace sluice::control

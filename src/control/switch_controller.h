#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "base/clock.h"
#include "base/log/log_event.h"
#include "base/mutex.h"
#include "control/ledger_follower.h"
#include "control/outbox.h"
#include "document/literals.h"
#include "engine/admission/big_switch.h"

namespace sluice::control {

// "open" is true, "normal" is false.
Literal<bool> parse_switch_mode(std::string_view text);

// Turns the big red switch of a node, for operators on this node, for the ledger (that is, operators on other
// nodes), or for a file. Thread-safe; the functions of DocumentRegistry belong to the control plane's thread.
//
// An order is in force on this node before anything is written. Then `post` sends its record to the ledger,
// and so to the other nodes. That is why the switch works even if every database is down.
//
// The newest order wins, on every node. Orders that reach the ledger within a second are ordered by the
// ledger. An order that had to wait for the ledger counts from the time it was given. If a newer order was
// given meanwhile, the late one is written as an event, for the audit log, and not as the state of the
// switch. So the newest record of the switch is always its newest order, even for a node that starts and
// reads nothing else.
//
// An open switch ends when its TTL has passed since this process heard of it, or at the end in its record by
// the wall clock, whichever is first. A wall clock that goes back does not hold it open. Only a process that
// starts with its clock behind the record holds it open once more, for the TTL at most.
class SwitchController final : public DocumentRegistry {
 public:
  using Post = std::function<void(ledger::Change, Outbox::Revise)>;

  // `steady_clock` is never set. `post` must not block.
  SwitchController(BigSwitch& big_switch, const Clock& wall_clock, const Clock& steady_clock, Post post,
                   EventLog log)
      : switch_(big_switch),
        clock_(wall_clock),
        steady_clock_(steady_clock),
        post_(std::move(post)),
        log_(std::move(log)) {}

  struct Order {
    bool open = false;
    std::string actor;
    std::string reason;
    std::int64_t ttl_seconds = 0;  // while the switch is open
  };
  // Turns the switch on all nodes. REQUIRES: kSwitchSecondsMin <= ttl_seconds <= kSwitchSecondsMax, if it
  // opens.
  void turn(const Order& order) { turn(BigSwitch::Hand::kOperators, order); }
  // Takes over an order that the last run of the process could not write. Post the change with the returned
  // function. An order "normal" takes effect on this node at once; whether the switch should still be open is
  // up to the ledger.
  Outbox::Revise take_up(const ledger::Change& change);
  // Turns the switch on this node only; the ledger records it as an event.
  void turn_by_file(const Order& order) { turn(BigSwitch::Hand::kFile, order); }

  // Returns the switch to normal, if it is time.
  void tick() {
    if (switch_.is_open()) [[unlikely]]
      expire();
  }

  // A sentence about a switch that is open or may be open; empty: it is not.
  std::string problem() const;
  std::string metrics() const;  // in Prometheus' text format
  // The newest order, or the one that holds the switch open. Its until_us is when the switch really ends.
  SwitchWord in_force() const;
  std::int64_t now_us() const { return clock_.now_us(); }

  Result<void> check(std::span<const ledger::Draft* const> drafts) override;
  std::map<std::string, std::string> apply(std::span<const ledger::Record* const> records) override;
  // A copy does not know whether the switch was closed since. So an open switch in the copy is reported, but
  // not applied.
  std::map<std::string, std::string> apply_copy(std::span<const ledger::Record* const> records) override;

 private:
  void turn(BigSwitch::Hand hand, const Order& order);
  void expire();
  bool say(BigSwitch::Hand hand, const SwitchWord& word);
  std::int64_t end_of(const SwitchWord& word) const;
  // What to write for an order given at `said_us`, in the current state of the ledger.
  std::optional<ledger::Change> revise(const ledger::Change& change, SwitchWord word, std::int64_t said_us);
  SwitchWord written() const;
  void note_written(const SwitchWord& word, bool by_a_copy);

  BigSwitch& switch_;
  const Clock& clock_;
  const Clock& steady_clock_;
  const Post post_;
  const EventLog log_;
  static LogEvent event_of(const SwitchWord& word) {
    return word.open ? LogEvent::kSwitchOpened : LogEvent::kSwitchClosed;
  }
  Mutex turning_;  // orders are handled one after the other
  mutable Mutex mutex_;
  // The newest order in the ledger, as far as known.
  SwitchWord written_ SLUICE_GUARDED_BY(mutex_);
  // It comes from a copy; the ledger was not read yet.
  bool is_by_a_copy_ SLUICE_GUARDED_BY(mutex_) = false;
};

}  // namespace sluice::control

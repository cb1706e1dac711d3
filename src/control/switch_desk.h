#pragma once

#include <cstdint>
#include <functional>
#include <mutex>
#include <optional>
#include <string>

#include "base/clock.h"
#include "control/outbox.h"
#include "control/registry.h"
#include "engine/big_switch.h"
#include "policy/literals.h"

namespace sluice::control {

// "open" is true, "normal" is false.
Literal<bool> parse_switch_mode(std::string_view text);

// Where the big red switch of a node is turned, by whoever: operators here, the ledger (that is, operators of
// other nodes), or a file. Thread-safe; the functions of Keeper belong to the control plane's thread.
//
// A word is in force on this node before anything is written; then its record goes where `post` takes it, and
// so to the other nodes. That is why the switch works with every database down.
//
// The newest word counts, on every node. Words that come to the ledger within a second count in its order;
// one that had to wait for the ledger counts as of when it was said, and if somebody has said something newer
// meanwhile, it is written as an event, for the audit log, and not as what the switch is. So the newest
// record of the switch is always its newest word, also for a node that starts and reads nothing else.
class SwitchDesk final : public Keeper {
 public:
  using Post = std::function<void(ledger::Change, Outbox::Revise)>;
  using Log = std::function<void(bool is_problem, const std::string& sentence)>;

  // `post` must not wait for anything.
  SwitchDesk(BigSwitch& big_switch, const Clock& clock, Post post, Log log)
      : switch_(big_switch), clock_(clock), post_(std::move(post)), log_(std::move(log)) {}

  struct Order {
    bool open = false;
    std::string actor;
    std::string reason;
    std::int64_t ttl_seconds = 0;  // of an open switch
  };
  // For all nodes. REQUIRES: kSwitchSecondsMin <= ttl_seconds <= kSwitchSecondsMax, if it is to be open.
  void turn(const Order& order) { turn(BigSwitch::Hand::kOperators, order); }
  // What the last run of the process could not write any more. To be posted with what this returns. A node
  // that was told "normal" is; whether it is still to be open, the ledger decides.
  Outbox::Revise take_up(const ledger::Change& change);
  // For this node; the ledger keeps it as an event.
  void turn_by_file(const Order& order) { turn(BigSwitch::Hand::kFile, order); }

  // Back to normal, if it is time.
  void tick() {
    if (switch_.is_open()) [[unlikely]]
      expire();
  }

  // A sentence about an open switch, or about one that may be open; empty: it is not.
  std::string problem() const;
  SwitchWord in_force() const { return switch_.in_force(clock_.now_us()); }
  std::int64_t now_us() const { return clock_.now_us(); }

  Result<void> check(std::span<const ledger::Draft* const> drafts) override;
  std::map<std::string, std::string> apply(std::span<const ledger::Record* const> records) override;
  // A copy does not know who has closed the switch since: what it says of an open one is told, and not done.
  std::map<std::string, std::string> apply_copy(std::span<const ledger::Record* const> records) override;

 private:
  void turn(BigSwitch::Hand hand, const Order& order);
  void expire();
  // What is to be written of a word that was said at `said_us`, as the ledger is now.
  std::optional<ledger::Change> revise(const ledger::Change& change, SwitchWord word, std::int64_t said_us);
  SwitchWord written() const;
  void note_written(const SwitchWord& word, bool by_a_copy);

  BigSwitch& switch_;
  const Clock& clock_;
  const Post post_;
  const Log log_;
  std::mutex turning_;  // one after the other
  mutable std::mutex mutex_;
  SwitchWord written_;         // the ledger's newest, as far as it is known; guarded by mutex_
  bool is_by_a_copy_ = false;  // that is, and the ledger itself was not heard; guarded by mutex_
};

}  // namespace sluice::control

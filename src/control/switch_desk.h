#pragma once

#include <cstdint>
#include <functional>
#include <mutex>
#include <string>

#include "base/clock.h"
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
class SwitchDesk final : public Keeper {
 public:
  using Post = std::function<void(ledger::Change)>;
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
  // For this node; the ledger keeps it as an event.
  void turn_by_file(const Order& order) { turn(BigSwitch::Hand::kFile, order); }

  // Back to normal, if it is time.
  void tick() {
    if (switch_.is_open()) [[unlikely]]
      expire();
  }

  // A sentence about an open switch; empty: it is not.
  std::string problem() const;
  SwitchWord in_force() const { return switch_.in_force(clock_.now_us()); }
  std::int64_t now_us() const { return clock_.now_us(); }

  Result<void> check(std::span<const ledger::Draft* const> drafts) override;
  std::map<std::string, std::string> apply(std::span<const ledger::Record* const> records) override;

 private:
  void turn(BigSwitch::Hand hand, const Order& order);
  void expire();

  BigSwitch& switch_;
  const Clock& clock_;
  const Post post_;
  const Log log_;
  std::mutex turning_;  // one after the other
};

}  // namespace sluice::control

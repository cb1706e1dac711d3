#pragma once

#include <sluice/limiter.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "client/frequent_keys.h"
#include "client/lease_table.h"
#include "client/leased_key.h"

namespace sluice {

// A check that the caller's thread could not decide.
struct WaitingCheck {
  KeyHash hash;         // of the subject
  std::string subject;  // tenant, resource, policy, key and dimensions, as a request has them on the wire
  std::optional<std::int64_t> cost;  // absent: as the policy says
  std::string request_id;            // not empty: only the server can answer it
  Limiter::Done done;
};

// Which lease an answer is for: keys come and go.
struct LeaseName {
  std::size_t place = 0;
  LeaseBucket::Generation generation = 0;
};

// Decides which keys are leased, and which checks are asked of the server one by one. A machine without I/O
// and without a clock; belongs to one thread, the owner of the table.
//
//   a check ──► the key is leased? ──yes──► spend ──nothing there──► wait for the lease that is asked for,
//                  │                                                 then spend, or be denied
//                  no ──► frequent, or advised by the server? ──yes──► lease it
//                              │
//                              no ──► ask the server
//
// Keys that are used too seldom, or that make room for others, are given up when they hold nothing.
class LeaseKeeper {
 public:
  // What the keeper asks for.
  class Server {
   public:
    // The answer goes to check.done.
    virtual void check(WaitingCheck check) = 0;
    // The answer goes to on_lease(), on_refused() or on_no_answer(), later.
    virtual void lease(const LeaseName& name, std::string_view subject, std::int64_t want,
                       std::string_view request_id) = 0;
    virtual void give_back(std::string_view lease_id, std::int64_t units) = 0;

   protected:
    ~Server() = default;
  };
  struct Options {
    bool leases = true;
    bool returns_unused = false;
    bool allows_unreachable = true;
    SizeRule rule = SizeRule::kPredicted;
    std::string holder;  // unlike that of every other process; begins the ids of its requests
  };

  // `random`: a number in [0, 1). REQUIRES: table and server outlive it.
  LeaseKeeper(LeaseTable& table, Server& server, Options options, std::function<double()> random);
  ~LeaseKeeper();

  void check(WaitingCheck check, std::int64_t now_us);
  // Somebody has found that the units at this place run low.
  void refill(std::size_t place, std::int64_t now_us);

  void on_lease(const LeaseName& name, const LeaseAnswer& answer, const LeaseTerms* terms,
                std::int64_t now_us);
  // The server does not lease this, for example because no limit applies. Checks are asked one by one.
  void on_refused(const LeaseName& name, std::int64_t now_us);
  void on_no_answer(const LeaseName& name, std::int64_t now_us);
  // The server advises to lease this key.
  void on_advice(const KeyHash& hash, std::string_view subject, std::int64_t now_us);
  // A server can be reached again.
  void on_reachable(std::int64_t now_us);

  // Gives the key's units up without returning them, and forgets that it was denied: its counters are reset.
  void forget(const KeyHash& hash, std::int64_t now_us);

  // Call run_due() at this time. INT64_MAX: no need to.
  std::int64_t next_due_us() const { return due_.empty() ? INT64_MAX : due_.begin()->first; }
  void run_due(std::int64_t now_us);

  // Nothing is spent or asked for any more. Unused units are given back, if that was asked for; those of
  // leases whose answers are still to come as well.
  void close(std::int64_t now_us);

  // That are leased, or were of late.
  std::size_t keys() const { return keys_in_use_; }

  // How long checks of a key that the server refused to lease are asked one by one.
  static constexpr std::int64_t kRefusalUs = 10 * kSecondUs;
  static constexpr std::size_t kWaitingPerKeyMax = 10'000;

 private:
  struct Key;
  std::size_t find_or_insert(const KeyHash& hash, std::string_view subject, double expected,
                             std::int64_t now_us);
  void check_leased(std::size_t place, WaitingCheck check, std::int64_t now_us);
  void ask(std::size_t place, std::int64_t now_us);
  void answer_waiting(std::size_t place, std::int64_t now_us);
  void settle(std::size_t place);
  bool make_room(const KeyHash& hash, std::int64_t now_us);
  void remove(std::size_t place, std::int64_t now_us);
  Key* key_of(const LeaseName& name) const;
  LeaseTable::Found at(std::size_t place) const;
  void note_demand(std::size_t place, std::int64_t now_us);

  LeaseTable& table_;
  Server& server_;
  const Options options_;
  const std::function<double()> random_;
  FrequentKeys frequent_;
  std::vector<std::unique_ptr<Key>> keys_;  // by place
  std::size_t keys_in_use_ = 0;
  std::set<std::pair<std::int64_t, std::size_t>> due_;  // when, and which place
  std::uint64_t requests_ = 0;
  bool is_closed_ = false;
};

}  // namespace sluice

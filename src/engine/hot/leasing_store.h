#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/clock.h"
#include "engine/hot/hot_sketch.h"
#include "store/store.h"

namespace sluice {

// A store that leases units of promoted keys from another store, and admits checks of these keys itself while
// it has units. So a hot key costs the other store a few calls a second, however hot it is, while its limit
// has room. Above the limit grants are small, and each denial is a call. Belongs to one event loop's thread.
//
//   check of a promoted key ──► units here? ──yes──► admitted, at once
//                                     └──no──► the other store decides
//   fewer than a fifth left, or a lease expires soon ──► lease what is spent in 200 ms (client/leased_key.h)
//
// Units are charged before they are spent here. So what is admitted is never more than what the other store
// has charged; while units are outstanding, it can be less. Only admissions are decided here: whatever has no
// units, the other store denies, or its failure rule decides.
//
// Only plain checks take part: all of their limits are promoted, none counts denials, and they have no
// request id and no place in an order (StoreCall::in_order): a check that the other store still decides would
// be overtaken by the next one, which finds units here. Refunds, looks, leases and all others go to the other
// store. Units belong to exactly these counters with exactly these numbers; when a policy changes, its keys
// begin anew. Units that nobody uses for a second, or whose key is demoted, are given back, and all of them
// when the node drains. A reset forgets the units of its counters.
class LeasingStore final : public Store {
 public:
  struct Parts {
    const HotSketch& hot;
    const Clock& clock;
    std::function<std::uint64_t(std::uint64_t below)> random;
    const std::atomic<bool>* draining = nullptr;  // null: never
  };
  LeasingStore(std::unique_ptr<Store> store, Parts parts);
  ~LeasingStore() override;

  bool start(StoreCall& call) override;
  void reset(std::span<const CounterName> counters, std::function<void(int)> done) override;
  void tick(std::int64_t now_us) override;

  void begin_burst() override { store_->begin_burst(); }
  void end_burst() override { store_->end_burst(); }
  std::int64_t next_due_us() const override { return store_->next_due_us(); }
  bool busy() const override { return store_->busy(); }
  Health health() const override { return store_->health(); }
  void report(StoreReport& report) const override;

  // How many different checks it holds units for.
  std::size_t size() const { return holdings_.size(); }
  // How many leases it remembers for them.
  std::size_t leases() const;

  static constexpr std::size_t kMax = 1'024;  // of them
  static constexpr std::int64_t kRefreshUs = 200'000;
  static constexpr std::int64_t kIdleUs = 1'000'000;

 private:
  class Call;
  struct Holding;

  bool takes_part(const StoreCall& call) const;
  bool are_promoted(std::span<const Charge> charges) const;
  bool is_draining() const { return parts_.draining && parts_.draining->load(std::memory_order_relaxed); }
  Holding* holding_of(const StoreCall& call);
  bool spend(Holding& holding, StoreCall& call);
  void refill(Holding& holding, std::int64_t now_us);
  void ask(Holding& holding, std::int64_t want, std::int64_t now_us);
  void on_lease(Holding& holding);
  void give_back(Holding& holding);
  void close(Holding& holding, std::int64_t now_us);
  KeyHash random_id();

  const std::unique_ptr<Store> store_;
  const Parts parts_;
  std::unordered_map<std::uint64_t, std::unique_ptr<Holding>> holdings_;  // by a hash of the counters
  std::vector<std::unique_ptr<Call>> returns_;                            // on their way
  std::uint64_t leases_ = 0;                                              // so far
};

}  // namespace sluice

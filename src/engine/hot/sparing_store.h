#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "base/clock.h"
#include "engine/hot/sampler.h"
#include "engine/hot/spare_places.h"
#include "store/params_table.h"
#include "store/store.h"

namespace sluice {

// A store that lets frequent checks take spare units along: one check in a while asks the other store for
// more than its own cost, and the next checks of the same counters are admitted by these units, without
// asking. So a key with a few checks a second costs the other store one a second, and there may be tens of
// thousands of them. Belongs to one event loop's thread.
//
//   check ──► spare units here? ──yes──► admitted, at once
//                  └──no──► frequent? ──yes──► ask for its cost and some more ──► admitted, and units for
//                  others
//                               └──no──► ask                         └──no room for so many──► ask again, for
//                                                                                              its cost alone
//
// Units are charged before they are spent, as with LeasingStore, whose keys are hotter: that one asks ahead,
// so that no check waits, with calls of its own; here a check that has to wait anyway carries the units.
// There is no record of them in the other store, and no call, as long as they are spent.
//
// A loop holds at most a 64th of a counter's capacity, takes at most a 16th of what was left, and what the
// key spends in about two seconds. What is not spent within three seconds goes back (at the next sweep), and
// everything when the node drains. Only plain checks take part: without a request id and without a place in
// an order, under limits that neither count denials nor are leaky buckets, which count what they deny. A
// reset forgets the units of its counters.
class SparingStore final : public Store {
 public:
  struct Parts {
    const ParamsTable& params;
    const Clock& clock;
    std::uint64_t seed = 0;
    const std::atomic<bool>* draining = nullptr;  // null: never
  };
  SparingStore(std::unique_ptr<Store> store, const Parts& parts);
  ~SparingStore() override;

  bool start(StoreCall& call) override;
  void reset(std::span<const CounterName> counters, std::function<void(int)> done) override;
  void tick(std::int64_t now_us) override;

  void begin_burst() override { store_->begin_burst(); }
  void end_burst() override { store_->end_burst(); }
  std::int64_t next_due_us() const override { return store_->next_due_us(); }
  bool busy() const override { return store_->busy(); }
  Health health() const override { return store_->health(); }
  void report(StoreReport& report) const override;

  static constexpr std::int64_t kPartOfCapacity = 64, kPartOfRest = 16;
  static constexpr std::size_t kReturnsMax = 1'024;  // at a time; further units stay used

 private:
  friend class SpareCall;
  using Place = SparePlaces::Place;

  bool is_draining() const { return parts_.draining && parts_.draining->load(std::memory_order_relaxed); }
  bool takes_part(const StoreCall& call) const;
  std::int64_t most_for(const StoreCall& call) const;
  bool spend(Place& place, StoreCall& call, std::int64_t now_us);
  void note_held(std::int64_t units) { most_held_ = std::max(most_held_, units); }
  bool ask(Place& place, StoreCall& call, std::int64_t extra, std::int64_t now_us);
  // Whether the check that it came with is answered.
  bool conclude(SpareCall& spare);
  void hold(SpareCall& spare, std::int64_t now_us);
  void end(Place& place, std::int64_t now_us);
  void give_back(SpareCall& spare, std::int64_t units, std::int64_t now_us);
  SpareCall& take_call();
  void release(SpareCall& spare) { free_.push_back(&spare); }

  const std::unique_ptr<Store> store_;
  const Parts parts_;
  SampleRandom random_;
  SparePlaces places_;
  std::vector<std::unique_ptr<SpareCall>> calls_;  // all of them, in use or free
  std::vector<SpareCall*> free_;
  std::size_t returns_ = 0;  // on their way
  // Units of the place with the most: since the sweep began, and of the one before.
  std::int64_t most_held_ = 0, most_held_before_ = 0;
};

}  // namespace sluice

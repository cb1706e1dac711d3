#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "store/async_store.h"
#include "store/params_table.h"

namespace sluice {

// A call on its way through a cluster: one part per slot that its charges live on, and the answer that the
// parts' answers make. Knows no nodes and sends nothing; used again and again, and keeps its memory. Not
// thread-safe.
//
//   split.begin(call, events);                                  // not started yet, hence one more to wait
//   for: for (Part& part : split.parts()) if (…start(part)) split.one_less(); if (split.one_less()) … // all
//   were done at once …                                                           // else
//   events.on_parts_done(split) split.settle(params);                                       // call has its
//   answer for (Part* part : split.begin_refunds(deadline_us)) …       // the same again
class SplitCall {
 public:
  // The charges on one slot, with what its way through the cluster needs.
  class Part final : public StoreCall {
   public:
    std::uint16_t slot = 0;
    std::uint32_t hops = 0;          // from node to node
    std::int64_t retry_at_us = 0;    // while it waits for the slot to settle
    std::int64_t give_up_at_us = 0;  // 0: not yet known

    void on_done() override;

   private:
    friend class SplitCall;
    SplitCall* whole_ = nullptr;
    std::size_t first_ = 0;  // of its charges
  };

  class Events {
   public:
    // All parts, or all refunds, have ended.
    virtual void on_parts_done(SplitCall& split) = 0;

   protected:
    ~Events() = default;
  };

  SplitCall() = default;
  SplitCall(const SplitCall&) = delete;
  SplitCall& operator=(const SplitCall&) = delete;

  void begin(StoreCall& call, Events& events);

  // One per slot, that of the first charge first.
  std::span<Part> parts() { return parts_; }

  // A part that was started is done, or all are started. Returns whether nothing is left to wait for.
  bool one_less() { return --waiting_ == 0; }

  // The call that is to be answered; null once it is.
  StoreCall* call() const { return call_; }

  // Puts the answer together, as if one store had decided: allowed if every slot allowed, denied if one
  // denied, whatever became of the others; else, without an answer of some slot, there is none. A denied
  // call's results on a slot that had room tell the level without the charge: `remaining` exactly,
  // `reset_after_us` to a microsecond, except for the sliding algorithms, where it may be up to a period too
  // long; on a slot that said nothing, they tell a full limit. Returns the call. REQUIRES: call() is there
  // and its parts are done.
  StoreCall& settle(const ParamsTable& params);

  // Turns the parts whose charges must be taken back into calls that do so, to be started as above; empty
  // when there are none. REQUIRES: settle() was called.
  std::span<Part* const> begin_refunds(std::int64_t deadline_us);
  std::span<Part* const> refunds() const { return refunds_; }

 private:
  bool refundable(const Part& part) const;
  void copy_results(const ParamsTable& params);

  StoreCall* call_ = nullptr;
  Events* events_ = nullptr;
  std::size_t waiting_ = 0;
  bool undo_ = false;  // what was charged is to be given back
  std::vector<Part> parts_;
  std::vector<Charge> charges_;  // sorted by part
  std::vector<ChargeResult> results_;
  std::vector<std::size_t> place_;  // of charges_ in the call
  std::vector<Part*> refunds_;
};

}  // namespace sluice

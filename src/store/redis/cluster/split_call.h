#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "store/params_table.h"
#include "store/store.h"

namespace sluice {

// A call to a cluster, split into one part per slot of its charges (or per key), and the answer put together
// from the answers of the parts. Knows no nodes and sends nothing. Reusable; keeps its memory. Not
// thread-safe.
//
//   split.begin(call, events);
//   while (split.has_round()) {
//     for (Part* part : split.begin_round())
//       if (…start(*part)) split.one_less();              // this part was done at once
//     if (split.one_less()) …                             // all of them were done at once
//     …                                                   // otherwise events.on_parts_done(split) follows
//   }
//   split.settle(params);                                 // the call has its answer
//   for (Part* part : split.begin_refunds(deadline_us)) …      // started in the same way
//
// begin_round() and begin_refunds() count one more than the parts: the last one_less() says that all are
// started.
//
// Checks have one round, and a record on every slot. What a slot replays was charged by an earlier request
// with this id, which may have been admitted: it is never given back, only what this call has charged is.
//
// A lease has one record, that of the first slot, which is asked last. So when it is there, all slots have
// been charged:
//
//   round 1   the other slots     up to what is wanted, under an id of this call's own     granted 8 and 5
//   round 2   the first slot      up to 5, under the request's id                          granted 3
//   refunds   the other slots     what is more than that                                   5 and 2
//
// If a slot has granted nothing, round 2 only looks for the record. If it finds one, the call is a repeat,
// and all that the others have just granted is given back. A return asks the first slot alone. When the
// record is removed, which happens once, refunds go to the others, if the holder knows when they were
// charged.
class SplitCall {
 public:
  // The charges on one slot, and the state of their way through the cluster.
  class Part final : public StoreCall {
   public:
    std::uint16_t slot = 0;
    std::uint32_t hops = 0;          // redirects followed
    std::int64_t retry_at_us = 0;    // while it waits for the slot to settle
    std::int64_t give_up_at_us = 0;  // 0: not yet known
    bool slot_is_moving = false;     // a node has said so; then no answer means kShed

    void on_done() override;

   private:
    friend class SplitCall;
    SplitCall* whole_ = nullptr;
    std::size_t first_ = 0;  // of its charges
  };

  class Events {
   public:
    // All parts, or all refunds, are done.
    virtual void on_parts_done(SplitCall& split) = 0;

   protected:
    ~Events() = default;
  };

  SplitCall() = default;
  SplitCall(const SplitCall&) = delete;
  SplitCall& operator=(const SplitCall&) = delete;

  // By key: for a slot whose keys are on two nodes. REQUIRES: then the call has no request id, whose record
  // is written in one step with the charges.
  enum class By : std::uint8_t { kSlot, kKey };
  // `own_id`: a number that no other call has; for leases.
  void begin(StoreCall& call, Events& events, By by = By::kSlot, std::uint64_t own_id = 0);

  // One per slot, or per charge; that of the first charge comes first.
  std::span<Part> parts() { return parts_; }

  // Whether parts are left to ask. REQUIRES: those of the last round are done.
  bool has_round() const { return rounds_left_ > 0; }
  // The parts to start now. REQUIRES: has_round()
  std::span<Part* const> begin_round();

  // A part that was started is done, or all parts are started. Returns whether nothing is left to wait for.
  bool one_less() { return --waiting_ == 0; }

  // The call to answer; null once it is answered.
  StoreCall* call() const { return call_; }

  // Puts the answer together as if one store had decided: denied if one slot denied, whatever the others
  // said; else without an answer if a slot gave none; else shed if a part was, or its slot is moving; else
  // allowed, partly counted if a slot has passed charges over or could have. If the call is denied, the
  // results on a slot that had room have the level without the charge: `remaining` exactly, `reset_after_us`
  // to a microsecond, except for the sliding algorithms, where it may be up to a period too long. On a slot
  // without an answer the results report the whole limit as remaining. Returns the call. REQUIRES: call() is
  // not null, and its parts are done.
  StoreCall& settle(const ParamsTable& params);

  // Turns the parts whose charges must be given back into refunds, to be started as above; empty when there
  // are none. REQUIRES: settle() was called.
  std::span<Part* const> begin_refunds(std::int64_t deadline_us);
  std::span<Part* const> refunds() const { return refunds_; }

  // The call was shed because of a slot that is moving. REQUIRES: settle() was called.
  bool is_shed_by_move() const { return shed_by_move_; }

 private:
  // Of leases on several slots (split_lease.cc).
  bool is_lease() const { return kind_ == Kind::kLease; }
  void begin_lease(std::uint64_t own_id);
  void begin_return();
  void ask_first_slot();
  bool first_slot_decides() const;
  void choose_lease_refunds();
  void choose_return_refunds();

  std::span<Part> others() { return std::span(parts_).subspan(1); }
  void set_cost(const Part& part, std::int64_t cost);
  bool refundable(const Part& part) const;
  void copy_results(const ParamsTable& params);

  StoreCall* call_ = nullptr;
  Events* events_ = nullptr;
  enum class Kind : std::uint8_t { kOneRound, kLease, kReturn };
  Kind kind_ = Kind::kOneRound;
  int rounds_left_ = 0;
  std::size_t waiting_ = 0;
  bool undo_ = false;  // charges must be given back
  bool shed_by_move_ = false;
  std::vector<Part> parts_;
  std::vector<Charge> charges_;  // sorted by part
  std::vector<ChargeResult> results_;
  std::vector<std::size_t> place_;  // the index of each of charges_ in the call
  std::vector<Part*> round_;
  std::vector<Part*> refunds_;
};

}  // namespace sluice

#pragma once

#include <algorithm>
#include <boost/unordered/unordered_flat_map.hpp>
#include <cassert>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <tuple>
#include <utility>
#include <vector>

#include "store/store.h"

namespace sluice {

// A queue of calls to send, fair between callers, and between the tenants of each caller (StoreCall::flow).
// Not thread-safe.
//
//   pushed by a for x:  1 2 3    by a for y:  4    by b for x:  5 6          comes out:  1 5 4 6 2 3
//
// What is shared is the server's work. Each call has a weight (StoreCall::work): after a call of weight 400,
// a caller waits until every other waiting caller has had as much. With calls of weight 1, callers take turns
// call by call, and so do the tenants of a caller; calls of one tenant keep their order. Cheap calls do not
// wait for expensive ones of callers that have had as little. So a caller with few calls is served in the
// next batch, however much others have queued, however expensive that is, and under however many names they
// queued it.
//
// This is weighted fair queueing, once for the callers and once for the tenants of each. Virtual time
// advances by the work done per waiting caller. Next is the call that would end first if all were served at
// the same time. A caller that was idle keeps its debt, but earns no credit.
//
// The calls themselves are the nodes of the lists, and empty lanes stay for the next call: nothing is
// allocated once warm.
class FairQueue {
 public:
  bool empty() const { return size_ == 0; }
  std::size_t size() const { return size_; }
  std::uint64_t work() const { return work_; }                // of all waiting calls
  std::size_t callers() const { return turns_.heap.size(); }  // with waiting calls
  std::size_t lanes_known() const { return lanes_.size(); }

  // What a caller has in the queue.
  struct Holding {
    std::size_t calls = 0;
    std::uint64_t work = 0;
    std::size_t tenants = 0;
    std::size_t of_tenant = 0;  // calls of the flow's tenant
    std::uint64_t work_of_tenant = 0;
  };
  Holding holding(const Flow& flow) const {
    const auto lane = lanes_.find(key_of(flow));
    if (lane != lanes_.end()) return holding_of(*lane->second->caller, lane->second);
    const auto caller = callers_.find(flow.caller);
    return caller == callers_.end() ? Holding{} : holding_of(*caller->second, nullptr);
  }

  void push(StoreCall& call) {
    Lane& lane = lane_of(call.flow);
    catch_up(lane);
    append(lane, call);
  }

  // Puts it before all others of its flow.
  void push_front(StoreCall& call) {
    Lane& lane = lane_of(call.flow);
    catch_up(lane);
    call.next_queued = lane.first;
    if (lane.first == nullptr) lane.last = &call;
    lane.first = &call;
    count_in(lane, call);
  }

  // The next call. REQUIRES: !empty()
  StoreCall& front() const { return *turns_.first().turns.first().first; }

  // Removes front(). `work`: its weight as known now. REQUIRES: !empty()
  void pop(std::uint32_t work = 1) {
    Caller& caller = turns_.take_first();
    Lane& lane = caller.turns.take_first();
    StoreCall& call = *lane.first;
    lane.first = call.next_queued;
    --lane.size;
    --caller.size;
    --size_;
    lane.work -= call.work;
    caller.work -= call.work;
    work_ -= call.work;
    call.work = work;
    caller.turns.note_served(lane, work);
    turns_.note_served(caller, work);
    if (lane.size > 0) caller.turns.add(lane, lane.first->work);
    if (caller.size > 0) turns_.add(caller, caller.turns.first().first->work);
  }

  // Removes the calls for which `is_out(call)` is true; it may reuse their next_queued. The order of turns
  // stays.
  template <typename Predicate>
  void remove_if(const Predicate& is_out) {
    for (Caller* caller : turns_.take_all()) {
      size_ -= std::exchange(caller->size, 0);
      work_ -= std::exchange(caller->work, 0);
      for (Lane* lane : caller->turns.take_all()) {
        StoreCall* call = std::exchange(lane->first, nullptr);
        lane->size = 0;
        lane->work = 0;
        while (call != nullptr) {
          StoreCall* const next = call->next_queued;
          if (!is_out(*call)) append(*lane, *call);
          call = next;
        }
      }
    }
  }

  // Removes all calls, flow by flow.
  std::vector<StoreCall*> take() {
    std::vector<StoreCall*> taken;
    taken.reserve(size_);
    remove_if([&](StoreCall& call) {
      taken.push_back(&call);
      return true;
    });
    return taken;
  }

 private:
  static constexpr std::size_t kIdleLanesMax = 2048;

  // The T that have waiting calls. Next is the one whose call ends first; among equals, the one that came
  // first.
  template <class T>
  struct Turns {
    static constexpr std::uint64_t kUnit = 1'024;  // per unit of work, as a unit is divided among many
    struct Turn {
      std::uint64_t ends_at, order;
      T* whose;
    };
    static bool is_later(const Turn& a, const Turn& b) {
      return std::tie(a.ends_at, a.order) > std::tie(b.ends_at, b.order);
    }
    std::vector<Turn> heap;  // its first is the earliest
    std::uint64_t now = 0;   // virtual time: work done per waiting T
    std::uint64_t orders = 0;

    T& first() const { return *heap.front().whose; }

    // `work`: the weight of its next call.
    void add(T& one, std::uint32_t work) {
      heap.push_back({one.turn_at + work * kUnit, orders++, &one});
      std::ranges::push_heap(heap, is_later);
    }
    // It waits already, and has got a call that goes before its others.
    void hurry(const T& one, std::uint32_t work) {
      const auto turn = std::ranges::find(heap, &one, &Turn::whose);
      if (one.turn_at + work * kUnit >= turn->ends_at) return;
      turn->ends_at = one.turn_at + work * kUnit;
      std::push_heap(heap.begin(), turn + 1, is_later);
    }
    T& take_first() {
      std::ranges::pop_heap(heap, is_later);
      T& one = *heap.back().whose;
      heap.pop_back();
      return one;
    }
    void note_served(T& one, std::uint32_t work) {
      one.turn_at += work * kUnit;
      now += work * kUnit / (heap.size() + 1);
    }
    // In the order of their turns.
    std::vector<T*> take_all() {
      std::ranges::sort(heap, [](const Turn& a, const Turn& b) { return is_later(b, a); });
      std::vector<T*> all;
      all.reserve(heap.size());
      for (const Turn& turn : heap) all.push_back(turn.whose);
      heap.clear();
      return all;
    }
  };
  struct Caller;
  // The calls of one flow.
  struct Lane {
    Caller* caller = nullptr;
    StoreCall* first = nullptr;
    StoreCall* last = nullptr;
    std::size_t size = 0;
    std::uint64_t work = 0;
    std::uint64_t turn_at = 0;
  };
  struct Caller {
    Turns<Lane> turns;
    std::size_t size = 0;  // calls
    std::uint64_t work = 0;
    std::uint64_t turn_at = 0;
  };

  static std::uint64_t key_of(const Flow& flow) { return std::uint64_t{flow.caller} << 32 | flow.tenant; }
  static Holding holding_of(const Caller& caller, const Lane* lane) {
    return {.calls = caller.size,
            .work = caller.work,
            .tenants = caller.turns.heap.size(),
            .of_tenant = lane != nullptr ? lane->size : 0,
            .work_of_tenant = lane != nullptr ? lane->work : 0};
  }

  void append(Lane& lane, StoreCall& call) {
    call.next_queued = nullptr;
    (lane.first == nullptr ? lane.first : lane.last->next_queued) = &call;
    lane.last = &call;
    count_in(lane, call);
  }

  // An idle flow earns no credit.
  void catch_up(Lane& lane) {
    Caller& caller = *lane.caller;
    if (lane.size == 0) lane.turn_at = std::max(lane.turn_at, caller.turns.now);
    if (caller.size == 0) caller.turn_at = std::max(caller.turn_at, turns_.now);
  }

  void count_in(Lane& lane, const StoreCall& call) {
    Caller& caller = *lane.caller;
    const bool is_new = lane.size++ == 0;
    if (is_new) caller.turns.add(lane, call.work);
    if (caller.size++ == 0)
      turns_.add(caller, call.work);
    else if (is_new && &caller.turns.first() == &lane)
      turns_.hurry(caller, call.work);
    ++size_;
    lane.work += call.work;
    lane.caller->work += call.work;
    work_ += call.work;
  }

  Lane& lane_of(const Flow& flow) {
    if (recent_ != nullptr && recent_flow_ == flow) return *recent_;
    if (lanes_.size() >= lanes_kept_ + kIdleLanesMax) forget_idle();
    const auto [found, is_new] = lanes_.try_emplace(key_of(flow), nullptr);
    if (is_new) {
      Caller*& caller = callers_[flow.caller];
      if (caller == nullptr) caller = new_one(caller_memory_, spare_callers_);
      found->second = new_one(lane_memory_, spare_lanes_);
      found->second->caller = caller;
    }
    recent_flow_ = flow;
    return *(recent_ = found->second);
  }

  template <class T>
  static T* new_one(std::deque<T>& memory, std::vector<T*>& spares) {
    if (spares.empty()) return &memory.emplace_back();
    T* const one = spares.back();
    spares.pop_back();
    *one = {};
    return one;
  }

  // A caller that keeps inventing names must not make the queue grow.
  void forget_idle() {
    recent_ = nullptr;
    boost::unordered::erase_if(lanes_, [this](const auto& each) {
      if (each.second->size == 0) spare_lanes_.push_back(each.second);
      return each.second->size == 0;
    });
    boost::unordered::erase_if(callers_, [this](const auto& each) {
      if (each.second->size == 0) spare_callers_.push_back(each.second);
      return each.second->size == 0;
    });
    lanes_kept_ = lanes_.size();
  }

  boost::unordered_flat_map<std::uint64_t, Lane*> lanes_;      // by flow; some are empty
  boost::unordered_flat_map<std::uint32_t, Caller*> callers_;  // the same
  std::deque<Lane> lane_memory_;
  std::deque<Caller> caller_memory_;
  std::vector<Lane*> spare_lanes_;
  std::vector<Caller*> spare_callers_;
  std::size_t lanes_kept_ = 0;  // when idle lanes were last forgotten
  Turns<Caller> turns_;
  Lane* recent_ = nullptr;  // calls of one flow often come in a row
  Flow recent_flow_;        // the flow of recent_
  std::size_t size_ = 0;
  std::uint64_t work_ = 0;
};

}  // namespace sluice

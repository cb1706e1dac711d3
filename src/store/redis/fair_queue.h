#pragma once

#include <boost/unordered/unordered_flat_map.hpp>
#include <cassert>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <utility>
#include <vector>

#include "store/async_store.h"

namespace sluice {

// Calls that wait to be sent, fair between their callers, and between the tenants of each caller
// (StoreCall::flow). Not thread-safe.
//
//   pushed by a for x:  1 2 3    by a for y:  4    by b for x:  5 6          comes out:  1 5 4 6 2 3
//
// One call of each caller in turn, and of a caller's tenants in turn; of one tenant as they came. So whoever
// asks little goes with the next batch, however much others have queued and under how many names. The calls
// themselves are the links of the lists, and lanes that are empty stay for the next call: nothing is
// allocated once warm.
class FairQueue {
 public:
  bool empty() const { return size_ == 0; }
  std::size_t size() const { return size_; }
  std::size_t callers() const { return turns_.size; }  // that wait
  std::size_t lanes_known() const { return lanes_.size(); }

  // What waits of a caller.
  struct Holding {
    std::size_t calls = 0;
    std::size_t tenants = 0;
    std::size_t of_tenant = 0;  // calls of this one
  };
  Holding holding(const Flow& flow) const {
    const auto lane = lanes_.find(key_of(flow));
    if (lane != lanes_.end()) return holding_of(*lane->second->caller, lane->second->size);
    const auto caller = callers_.find(flow.caller);
    return caller == callers_.end() ? Holding{} : holding_of(*caller->second, 0);
  }

  void push(StoreCall& call) { append(lane_of(call.flow), call); }

  // Before all others of its flow.
  void push_front(StoreCall& call) {
    Lane& lane = lane_of(call.flow);
    call.next_queued = lane.first;
    if (lane.first == nullptr) lane.last = &call;
    lane.first = &call;
    count_in(lane);
  }

  // Whose turn it is. REQUIRES: !empty()
  StoreCall& front() const { return *turns_.first->turns.first->first; }

  // Takes front() out; then it is another caller's turn. REQUIRES: !empty()
  void pop() {
    Caller& caller = turns_.take_first();
    Lane& lane = caller.turns.take_first();
    lane.first = lane.first->next_queued;
    --lane.size;
    --caller.size;
    --size_;
    if (lane.size > 0) caller.turns.add(lane);
    if (caller.size > 0) turns_.add(caller);
  }

  // Takes out those of which `is_out(call)` is true, which may use their links. Whose turn it is stays.
  template <typename Predicate>
  void remove_if(const Predicate& is_out) {
    Turns<Caller> callers = std::exchange(turns_, {});
    while (callers.size > 0) {
      Caller& caller = callers.take_first();
      Turns<Lane> lanes = std::exchange(caller.turns, {});
      size_ -= std::exchange(caller.size, 0);
      while (lanes.size > 0) {
        Lane& lane = lanes.take_first();
        StoreCall* call = std::exchange(lane.first, nullptr);
        lane.size = 0;
        while (call != nullptr) {
          StoreCall* const next = call->next_queued;
          if (!is_out(*call)) append(lane, *call);
          call = next;
        }
      }
    }
  }

  // Takes all out, flow by flow.
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

  // Those of T that have something, in turn. They are the links of the list, too.
  template <class T>
  struct Turns {
    T* first = nullptr;
    T* last = nullptr;
    std::size_t size = 0;

    void add(T& one) {
      one.next = nullptr;
      (first == nullptr ? first : last->next) = &one;
      last = &one;
      ++size;
    }
    T& take_first() {
      T& one = *first;
      first = one.next;
      --size;
      return one;
    }
  };
  struct Caller;
  // The calls of one flow.
  struct Lane {
    Caller* caller = nullptr;
    StoreCall* first = nullptr;
    StoreCall* last = nullptr;
    std::size_t size = 0;
    Lane* next = nullptr;
  };
  struct Caller {
    Turns<Lane> turns;
    std::size_t size = 0;  // calls
    Caller* next = nullptr;
  };

  static std::uint64_t key_of(const Flow& flow) { return std::uint64_t{flow.caller} << 32 | flow.tenant; }
  static Holding holding_of(const Caller& caller, std::size_t of_tenant) {
    return {.calls = caller.size, .tenants = caller.turns.size, .of_tenant = of_tenant};
  }

  void append(Lane& lane, StoreCall& call) {
    call.next_queued = nullptr;
    (lane.first == nullptr ? lane.first : lane.last->next_queued) = &call;
    lane.last = &call;
    count_in(lane);
  }

  void count_in(Lane& lane) {
    if (lane.size++ == 0) lane.caller->turns.add(lane);
    if (lane.caller->size++ == 0) turns_.add(*lane.caller);
    ++size_;
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

  // Who comes under ever new names must not make the queue grow.
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
  std::size_t lanes_kept_ = 0;  // when the idle ones were forgotten last
  Turns<Caller> turns_;
  Lane* recent_ = nullptr;  // most calls come in rows of one flow
  Flow recent_flow_;        // its
  std::size_t size_ = 0;
};

}  // namespace sluice

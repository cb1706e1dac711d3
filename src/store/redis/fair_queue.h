#pragma once

#include <boost/unordered/unordered_flat_map.hpp>
#include <cassert>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <utility>
#include <vector>

#include "store/async_store.h"

namespace sluice {

// Calls that wait to be sent, fair between their flows (StoreCall::flow: tenants). Not thread-safe.
//
//   pushed:  a1 a2 a3 a4 b1 c1 c2          comes out:  a1 b1 c1 a2 c2 a3 a4
//
// One call of each flow in turn; within a flow as they came. So whoever asks little goes with the next batch,
// however much others have queued. The calls themselves are the links of the lists: nothing is allocated once
// warm.
class FairQueue {
 public:
  bool empty() const { return size_ == 0; }
  std::size_t size() const { return size_; }
  std::size_t flows() const { return turns_.size(); }

  // How many calls of this flow wait.
  std::size_t size_of(std::uint32_t flow) const {
    const auto found = lanes_.find(flow);
    return found == lanes_.end() ? 0 : found->second->size;
  }

  void push(StoreCall& call) {
    Lane& lane = lane_of(call.flow);
    call.next_queued = nullptr;
    (lane.first == nullptr ? lane.first : lane.last->next_queued) = &call;
    lane.last = &call;
    ++lane.size;
    ++size_;
  }

  // Before all others of its flow.
  void push_front(StoreCall& call) {
    Lane& lane = lane_of(call.flow);
    call.next_queued = lane.first;
    if (lane.first == nullptr) lane.last = &call;
    lane.first = &call;
    ++lane.size;
    ++size_;
  }

  // Whose turn it is. REQUIRES: !empty()
  StoreCall& front() const { return *turns_.front()->first; }

  // Takes front() out; then it is another flow's turn. REQUIRES: !empty()
  void pop() {
    Lane* const lane = turns_.front();
    lane->first = lane->first->next_queued;
    --lane->size;
    --size_;
    if (turns_.size() > 1 || lane->size == 0) turns_.pop_front();
    if (lane->size == 0) return close(*lane);
    if (turns_.empty() || turns_.front() != lane) turns_.push_back(lane);
  }

  // Takes out those of which `is_out(call)` is true, which may use their links.
  template <typename Predicate>
  void remove_if(const Predicate& is_out) {
    std::deque<Lane*> turns = std::exchange(turns_, {});
    for (Lane* lane : turns) {
      StoreCall* call = std::exchange(lane->first, nullptr);
      size_ -= std::exchange(lane->size, 0);
      lane->last = nullptr;
      while (call != nullptr) {
        StoreCall* const next = call->next_queued;
        if (!is_out(*call)) {
          call->next_queued = nullptr;
          (lane->first == nullptr ? lane->first : lane->last->next_queued) = call;
          lane->last = call;
          ++lane->size;
          ++size_;
        }
        call = next;
      }
      if (lane->size > 0)
        turns_.push_back(lane);
      else
        close(*lane);
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
  struct Lane {
    std::uint32_t flow = 0;
    StoreCall* first = nullptr;
    StoreCall* last = nullptr;
    std::size_t size = 0;
  };

  Lane& lane_of(std::uint32_t flow) {
    if (recent_ != nullptr && recent_->flow == flow) return *recent_;
    const auto [found, is_new] = lanes_.try_emplace(flow, nullptr);
    if (is_new) {
      if (spares_.empty()) spares_.push_back(std::make_unique<Lane>());
      found->second = std::move(spares_.back());
      spares_.pop_back();
      *found->second = {.flow = flow};
      turns_.push_back(found->second.get());
    }
    return *(recent_ = found->second.get());
  }

  void close(Lane& lane) {
    assert(lane.size == 0);
    if (recent_ == &lane) recent_ = nullptr;
    const auto found = lanes_.find(lane.flow);
    spares_.push_back(std::move(found->second));
    lanes_.erase(found);
  }

  boost::unordered_flat_map<std::uint32_t, std::unique_ptr<Lane>> lanes_;  // that are not empty
  std::vector<std::unique_ptr<Lane>> spares_;
  std::deque<Lane*> turns_;  // lanes_, in turn
  Lane* recent_ = nullptr;   // most calls come in rows of one flow
  std::size_t size_ = 0;
};

}  // namespace sluice

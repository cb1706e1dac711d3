#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

#include "base/limits.h"
#include "store/store.h"

namespace sluice {

// The calls of one flight, grouped by what may go in one command. Not thread-safe.
//
//   while (more && groups.add(group, *call, work)) …;
//   groups.for_each([](std::span<StoreCall* const> calls) { … });     // in the order of arrival
class SlotGroups {
 public:
  // False when the flight is full.
  bool add(std::uint64_t group, StoreCall& call, std::uint32_t work) {
    if (members_.size() >= kRedisBatchChecksMax ||
        (!members_.empty() && charges_ + call.charges.size() > kRedisBatchEntriesMax))
      return false;
    const auto place = static_cast<std::size_t>(std::ranges::find(ids_, group) - ids_.begin());
    if (place == ids_.size()) {
      if (place >= kRedisFlightSlotsMax) return false;
      ids_.push_back(group);
      ends_.push_back({kNone, kNone});
    }
    const auto member = static_cast<std::uint32_t>(members_.size());
    members_.push_back({&call, kNone});
    charges_ += call.charges.size();
    work_ += work;
    auto& [first, last] = ends_[place];
    (first == kNone ? first : members_[last].next) = member;
    last = member;
    return true;
  }

  template <typename Function>
  void for_each(Function&& function) {
    for (const Ends& ends : ends_) {
      row_.clear();
      for (std::uint32_t i = ends.first; i != kNone; i = members_[i].next) row_.push_back(members_[i].call);
      function(std::span<StoreCall* const>(row_));
    }
  }

  bool empty() const { return members_.empty(); }
  std::uint64_t work() const { return work_; }  // of all calls

  void clear() {
    ids_.clear();
    ends_.clear();
    members_.clear();
    charges_ = 0;
    work_ = 0;
  }

 private:
  static constexpr std::uint32_t kNone = UINT32_MAX;
  struct Member {
    StoreCall* call;
    std::uint32_t next;  // of the same group
  };
  struct Ends {
    std::uint32_t first, last;
  };
  std::vector<std::uint64_t> ids_;
  std::vector<Ends> ends_;  // of ids_
  std::vector<Member> members_;
  std::vector<StoreCall*> row_;
  std::size_t charges_ = 0;
  std::uint64_t work_ = 0;
};

}  // namespace sluice

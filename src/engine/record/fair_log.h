#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "engine/record/known_decision.h"

namespace sluice {

// Decisions in a bounded amount of memory, shared fairly between tenants: when it is used up, the tenant that
// takes the most of it loses its oldest one. So a tenant's flood pushes out nothing but its own. Not
// thread-safe.
class FairLog {
 public:
  explicit FairLog(std::size_t bytes_max) : bytes_max_(bytes_max) {}

  void add(KnownDecision decision);
  // Adds the newest ones that the query wants, at most query.most, in no particular order.
  void collect(const DecisionQuery& query, std::vector<KnownDecision>& out) const;

  std::size_t size() const { return size_; }
  std::size_t bytes() const { return bytes_; }

 private:
  struct Lane {
    std::deque<KnownDecision> decisions;  // oldest first
    std::size_t bytes = 0;
  };
  struct TextHash : std::hash<std::string_view> {
    using is_transparent = void;
  };
  using Lanes = std::unordered_map<std::string, Lane, TextHash, std::equal_to<>>;

  void resize(Lanes::value_type& lane, std::ptrdiff_t by);
  void drop_one();

  const std::size_t bytes_max_;
  std::size_t size_ = 0, bytes_ = 0;
  Lanes lanes_;                                                   // by tenant; none is empty
  std::set<std::pair<std::size_t, Lanes::value_type*>> by_size_;  // of the same
};

}  // namespace sluice

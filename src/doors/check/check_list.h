#pragma once

#include <cassert>
#include <cstddef>
#include <span>
#include <string_view>
#include <vector>

#include "engine/request/check_request.h"

namespace sluice::doors {

// The checks of one call while a door reads them, with space for their dimensions. Reused by every call, so
// that reading allocates nothing once warm. Not thread-safe.
//
//   list.clear();
//   list.add().tenant = "search-service";
//   list.put_dimension("user", "u1");
//   for (const CheckRequest& check : list.finish()) …
class CheckList {
 public:
  void clear() {
    checks_.clear();
    dimensions_.clear();
    begins_.clear();
  }
  std::size_t size() const { return checks_.size(); }

  // Starts a check. The reference is valid until the next add().
  CheckRequest& add() {
    begins_.push_back(dimensions_.size());
    return checks_.emplace_back();
  }

  // REQUIRES: size() > 0
  CheckRequest& latest() { return checks_.back(); }

  // The latest check's dimension of that name, or null.
  Dimension* find_dimension(std::string_view name) {
    for (std::size_t i = begins_.back(); i < dimensions_.size(); ++i)
      if (dimensions_[i].name == name) return &dimensions_[i];
    return nullptr;
  }
  void put_dimension(std::string_view name, std::string_view value) { dimensions_.push_back({name, value}); }
  std::size_t dimension_count() const { return dimensions_.size() - begins_.back(); }

  // All checks, with their dimensions and the caller's deadline (0: none). Nothing may be added after this.
  std::span<CheckRequest> finish(std::int64_t deadline_us = 0) {
    begins_.push_back(dimensions_.size());
    for (std::size_t i = 0; i < checks_.size(); ++i) {
      checks_[i].dimensions = {dimensions_.data() + begins_[i], begins_[i + 1] - begins_[i]};
      checks_[i].deadline_us = deadline_us;
    }
    return checks_;
  }

 private:
  std::vector<CheckRequest> checks_;
  std::vector<Dimension> dimensions_;
  std::vector<std::size_t> begins_;  // where the dimensions of each check begin
};

}  // namespace sluice::doors

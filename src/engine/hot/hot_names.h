#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "engine/request/check_request.h"

namespace sluice {

// What the counters of one check are called: a check's texts are gone when its answer arrives, and counters
// are only hashes. One name for each limit, in their order. Not thread-safe; reused, so that it allocates
// nothing once warm.
class HotNames {
 public:
  struct Name {
    std::string_view tenant;  // whose counter it is; empty: one that several tenants share
    // The values of the limit's dimensions, each after its length. Empty: not to be shown.
    std::string_view values;
  };

  void clear() {
    bytes_.clear();
    ends_.clear();
  }
  // `shows_values`: else only the counter's hash will tell it apart.
  void add(const CompiledPolicy& policy, const CompiledLimit& limit, const Dimensions& dimensions,
           bool shows_values);

  std::size_t size() const { return ends_.size(); }
  Name operator[](std::size_t i) const {
    const std::string_view bytes = bytes_;
    const std::size_t begin = i == 0 ? 0 : ends_[i - 1].values;
    return {.tenant = bytes.substr(begin, ends_[i].tenant - begin),
            .values = bytes.substr(ends_[i].tenant, ends_[i].values - ends_[i].tenant)};
  }

 private:
  struct Ends {
    std::size_t tenant, values;
  };
  std::string bytes_;
  std::vector<Ends> ends_;
};

// Takes the next of the values. REQUIRES: there is one
std::string_view take_value(std::string_view& values);

}  // namespace sluice

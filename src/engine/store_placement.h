#pragma once

#include <string_view>

#include "store/async_store.h"

namespace sluice {

// Which of several stores a request's counters live in. Belongs to one event loop's thread.
class StorePlacement {
 public:
  virtual ~StorePlacement() = default;
  // The store answers what it is asked even if the placement changes before. An empty tenant or tier is one
  // that the request does not have.
  virtual AsyncStore& store_for(std::string_view tenant, std::string_view tier) = 0;
};

}  // namespace sluice

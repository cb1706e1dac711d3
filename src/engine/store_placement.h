#pragma once

#include <string_view>

#include "store/store.h"

namespace sluice {

// Selects the store that holds a request's counters, of several. Belongs to one event loop's thread.
class StorePlacement {
 public:
  virtual ~StorePlacement() = default;
  // The store completes the calls it has received even if the placement changes before. An empty tenant or
  // tier means that the request has none.
  virtual Store& store_for(std::string_view tenant, std::string_view tier) = 0;
};

}  // namespace sluice

#pragma once

#include <cstdint>
#include <optional>

#include "base/error.h"
#include "engine/check_request.h"

namespace sluice::plan {

// A request of the past, as it would be asked for today. The views belong to whoever read it.
struct TrafficEntry {
  std::int64_t at_us = 0;
  CheckRequest request;
  bool denied_then = false;           // as far as the log tells
  std::optional<Error> refusal = {};  // a server would not have asked the policies, but answered this
};

}  // namespace sluice::plan

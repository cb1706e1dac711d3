#pragma once

#include <cstdint>
#include <optional>

#include "base/error.h"
#include "engine/request/check_request.h"

namespace sluice::plan {

// A request of the past, as a check of today. The views belong to the reader.
struct TrafficEntry {
  std::int64_t at_us = 0;
  CheckRequest request;
  bool denied_then = false;           // as far as the log says
  std::optional<Error> refusal = {};  // the server would have returned this error without a check
};

}  // namespace sluice::plan

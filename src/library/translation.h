#pragma once

#include <array>
#include <optional>
#include <span>

#include <sluice/limiter.h>

#include "base/limits.h"
#include "engine/engine.h"
#include "library/fixed_policies.h"

namespace sluice::library {

// A request as the engine reads it. Refers to the request of the caller. Belongs to one thread.
class EngineRequest {
 public:
  explicit EngineRequest(const Request& request);
  EngineRequest(const EngineRequest&) = delete;
  EngineRequest& operator=(const EngineRequest&) = delete;

  const CheckRequest& get() const { return request_; }

 private:
  std::span<const Dimension> copy_dimensions(const Request& request);

  // One more than the engine accepts, so that it can say that there are too many. Most requests have none,
  // and should not pay for clearing the array.
  std::optional<std::array<Dimension, kDimensionsMax + 1>> dimensions_;
  CheckRequest request_;
};

// The engine's answer as the caller reads it. REQUIRES: `policies` are those of the engine.
Answer answer_of(const Result<Decision>& decision, const FixedPolicies& policies);
ResetAnswer answer_of(const Result<int>& counters);

// Answers without a decision.
Answer closed_answer();
Answer invalid_answer(std::string message);
ResetAnswer closed_reset();

}  // namespace sluice::library

#pragma once

#include <deque>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/error.h"
#include "doors/envoy/envoy_answer.h"
#include "engine/decision/joint_decision.h"

namespace sluice::doors {

// Assembles the answer to an Envoy request in which some descriptors give hits back (`is_negative_hits`). It
// combines the answer for the other descriptors and the levels after the refund, which may arrive in either
// order. It owns all its data, since either part may take a round trip. Not thread-safe.
class EnvoyRefund {
 public:
  using Written = Result<const EnvoyAnswer*>;
  using Write = std::function<void(const Written&)>;

  explicit EnvoyRefund(std::vector<PlannedDescriptor> planned) : planned_(std::move(planned)) {}
  EnvoyRefund(const EnvoyRefund&) = delete;
  EnvoyRefund& operator=(const EnvoyRefund&) = delete;

  const std::vector<PlannedDescriptor>& planned() const { return planned_; }

  // The answer for the other descriptors.
  void take_others(const Written& others);
  // The levels after the refund. If there is no answer, the levels are omitted: a refund never denies.
  void take_levels(const Result<JointDecision>& given);

  bool is_complete() const { return others_ && levels_; }
  // REQUIRES: is_complete().
  Written answer();
  // `write` is called when the answer is complete. REQUIRES: !is_complete().
  void answer_later(Write write) { write_ = std::move(write); }

 private:
  struct Level {
    std::size_t descriptor;
    EnvoyStatus status;
  };

  std::string_view keep(std::string_view text) { return texts_.emplace_back(text); }
  void note_progress();

  const std::vector<PlannedDescriptor> planned_;
  std::deque<std::string> texts_;  // the answer points into it
  std::vector<net::Header> headers_;
  std::optional<Result<EnvoyAnswer>> others_;
  std::optional<std::vector<Level>> levels_;
  Write write_;
};

}  // namespace sluice::doors

#pragma once

#include <deque>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/error.h"
#include "doors/envoy_answer.h"
#include "engine/joint_decision.h"

namespace sluice::doors {

// The answer to a request of Envoy's with descriptors that give hits back (`is_negative_hits`), while it is
// put together: from what the others came to and from the levels after the refund, whichever comes first. It
// owns all that it tells, since either may take a round trip. Not thread-safe.
class EnvoyRefund {
 public:
  using Written = Result<const EnvoyAnswer*>;
  using Write = std::function<void(const Written&)>;

  explicit EnvoyRefund(std::vector<EnvoySlot> slots) : slots_(std::move(slots)) {}
  EnvoyRefund(const EnvoyRefund&) = delete;
  EnvoyRefund& operator=(const EnvoyRefund&) = delete;

  const std::vector<EnvoySlot>& slots() const { return slots_; }

  // The answer without the refunds.
  void take_others(const Written& others);
  // What is left after the refund. Without an answer nobody is told how much: a refund never denies.
  void take_levels(const Result<JointDecision>& given);

  bool is_complete() const { return others_ && levels_; }
  // REQUIRES: is_complete().
  Written answer();
  // Will be called when it is. REQUIRES: it is not.
  void answer_later(Write write) { write_ = std::move(write); }

 private:
  struct Level {
    std::size_t descriptor;
    EnvoyStatus status;
  };

  std::string_view keep(std::string_view text) { return texts_.emplace_back(text); }
  void note_progress();

  const std::vector<EnvoySlot> slots_;
  std::deque<std::string> texts_;  // what the answer points to
  std::vector<net::Header> headers_;
  std::optional<Result<EnvoyAnswer>> others_;
  std::optional<std::vector<Level>> levels_;
  Write write_;
};

}  // namespace sluice::doors

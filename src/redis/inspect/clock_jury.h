#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "redis/inspect/clock_delta.h"

namespace sluice::redis {

// Finds the servers of a store whose clocks are wrong. Pure.
//
// Each server's clock is known by how far it is ahead of ours. The majority is right: of all servers that
// have answered, plus our own clock, more than half must agree within a second. If our own clock is the wrong
// one, all servers agree with each other, and none is left out. With one server there are only two votes, so
// nothing is judged: its time is the only one that counts, and a difference is reported as advice.
struct ClockJury {
  static constexpr std::int64_t kApartUsMax = 1'000'000;
  static constexpr std::int64_t kBackWithinUs = 500'000;  // a server that was left out returns only this near

  // `estimates`: one per server; absent: it has not answered lately, and is not judged. `left_out`, one per
  // server: the previous verdict on entry, the new one on return. REQUIRES: both have the same size.
  static void judge(std::span<const std::optional<ClockDelta::Estimate>> estimates, std::span<bool> left_out);
};

}  // namespace sluice::redis

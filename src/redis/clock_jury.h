#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "redis/clock_delta.h"

namespace sluice::redis {

// Finds the servers of a store whose clocks are wrong. Pure.
//
// Each server's clock is known by how far it is ahead of ours. Who is right is a question of the majority: of
// all servers that have answered, and our own clock, more than half must agree within a second. If our own
// clock is the wrong one, all servers agree with each other, and none is left out. With one server there are
// two voices, so nobody can tell, and nothing is judged: its time is the only one that counts, and a
// difference is told as advice.
struct ClockJury {
  static constexpr std::int64_t kApartUsMax = 1'000'000;
  static constexpr std::int64_t kBackWithinUs = 500'000;  // who was left out comes back only so near

  // `estimates`: of each server; nothing: it has not answered lately, and is not judged. `left_out`, of each
  // server, is what was found before and receives what is found now. REQUIRES: both are of one size.
  static void judge(std::span<const std::optional<ClockDelta::Estimate>> estimates, std::span<bool> left_out);
};

}  // namespace sluice::redis

#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "loadgen/options.h"
#include "loadgen/recorder.h"

namespace sluice::loadgen {

// What a run has measured.
struct Measurement {
  Tally tally;
  std::int64_t elapsed_us = 0;                // of the window
  std::optional<std::int64_t> server_cpu_us;  // within the window
  std::int64_t client_cpu_us = 0;
  bool interrupted = false;

  double checks_per_second() const;
  // Microseconds of CPU for each answer; 0 without answers.
  double per_check(std::int64_t cpu_us) const;
};

// The table for people, and the same for programs.
std::string to_table(const BenchOptions& options, const Measurement& measured);
std::string to_json(const BenchOptions& options, const Measurement& measured);

}  // namespace sluice::loadgen

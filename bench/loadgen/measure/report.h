#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "loadgen/measure/recorder.h"
#include "loadgen/options.h"

namespace sluice::loadgen {

// The results of a run.
struct Measurement {
  Tally tally;
  std::int64_t elapsed_us = 0;                // of the window
  std::optional<std::int64_t> server_cpu_us;  // within the window
  std::int64_t client_cpu_us = 0;
  bool interrupted = false;

  double checks_per_second() const;
  // Microseconds of CPU per answer; 0 if there are no answers.
  double per_check(std::int64_t cpu_us) const;
};

// The results as a table for people, and as JSON for programs.
std::string to_table(const BenchOptions& options, const Measurement& measured);
std::string to_json(const BenchOptions& options, const Measurement& measured);

}  // namespace sluice::loadgen

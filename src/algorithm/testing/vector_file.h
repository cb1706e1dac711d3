#pragma once

#include <istream>
#include <optional>
#include <string>
#include <vector>

#include "algorithm/refund.h"
#include "algorithm/step.h"

// Reads tests/vectors/*.vec, for tests only. The format is described in tests/vectors/README.md.
namespace sluice {

// One row: decide `cost` at `now_us`, or give `refund_of` back; the other fields are the expected result.
struct VectorRow {
  std::string where;   // "gcra.vec:17"
  bool fresh = false;  // this row starts a new counter
  LimitParams limit;
  OnDenial on_denial = OnDenial::kFree;
  std::int64_t now_us = 0;
  std::int64_t cost = 0;
  std::optional<Grant> refund_of;
  Outcome outcome;
  LimitParams kept_by;  // the numbers that it is kept under afterwards
  State state;          // of every algorithm but sliding_log
  Log log;              // of sliding_log
};

// Throws std::runtime_error("gcra.vec:17: …") at the first line that it cannot read.
std::vector<VectorRow> read_vectors(std::istream& in, const std::string& name);

}  // namespace sluice

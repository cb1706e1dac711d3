#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "algorithm/limit_params.h"
#include "algorithm/migrate.h"

// The numbers that a counter in Redis is kept under, as its value says them. README.md ("Stamps") has the
// bytes; stamps.lua is the twin. Pure functions.
//
//   100/m           short, 4 bytes, and the whole value 12: nearly every limit that a person writes
//   12345678/11s    full, 15 bytes
//
// A value that says its numbers can be read by a node that has never seen them: one that has just started
// with another version of the policy, or whose neighbour has given the key another tier.
namespace sluice {

// With which bytes values of this limit begin. Equal for numbers under which a counter is the same
// (same_numbers() of algorithm/migrate.h), different for all others.
std::string stamp_of(const LimitParams& params);

// The short one; empty: there is none.
std::string short_stamp(const LimitParams& params);

// A value taken apart.
struct StampedCounter {
  std::string_view stamp;  // as stamp_of() would make it, but for the mark of a log that warned
  LimitParams numbers;     // of a window: with a capacity of 1, whatever it is
  Kept kept;
  bool warned = false;
};

// Nothing when the bytes are no counter, or say numbers that no limit can have.
std::optional<StampedCounter> read_counter(std::string_view value);

// The same where the stamp is known: nothing when the value has another one, or not its length.
// REQUIRES: the stamp is not of a log.
struct CounterState {
  State state;
  bool warned = false;
};
std::optional<CounterState> read_state(std::string_view value, std::string_view stamp);

}  // namespace sluice

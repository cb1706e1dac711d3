#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include "algorithm/limit_params.h"
#include "algorithm/migrate.h"

// The numbers that a counter in Redis is kept under, as its value encodes them. README.md ("Stamps") has the
// bytes; stamps.lua does the same in Lua. Pure functions.
//
//   100/m           short, 4 bytes, and the whole value 12: nearly every limit that a person writes
//   12345678/11s    full, 15 bytes
//
// A value that has its numbers can be read by a node that has never seen them: one that has just started with
// another version of the policy, or after another node has given the key another tier.
namespace sluice {

// Of a log's value: how many bytes each of its entries takes.
inline constexpr std::size_t kLogEntryBytes = 11;

// The first bytes of values of this limit. Equal for numbers under which a counter is the same
// (same_numbers() of algorithm/migrate.h), different for all others.
std::string stamp_of(const LimitParams& params);

// The short stamp; empty: there is none.
std::string short_stamp(const LimitParams& params);

// A value taken apart.
struct StampedCounter {
  std::string_view stamp;  // as made by stamp_of(), except for the mark of a log that warned
  LimitParams numbers;     // for a window, the capacity is always 1
  Kept kept;
  bool warned = false;
};

// Absent if the bytes are not a counter, or have numbers that no limit can have.
std::optional<StampedCounter> read_counter(std::string_view value);

// The same when the stamp is known: absent if the value has another stamp or the wrong length.
// REQUIRES: the stamp is not of a log.
struct CounterState {
  State state;
  bool warned = false;
};
std::optional<CounterState> read_state(std::string_view value, std::string_view stamp);

}  // namespace sluice

#pragma once

#include <array>
#include <cstdint>
#include <string>

namespace sluice {

// One check, as a trace shows it. Its texts keep their memory when a span is used again.
struct Span {
  std::array<std::uint8_t, 16> trace_id{};
  std::array<std::uint8_t, 8> span_id{};
  std::array<std::uint8_t, 8> parent_id{};  // all zero: none
  std::uint8_t flags = 0;                   // of the trace
  std::int64_t begin_ns = 0, end_ns = 0;    // Unix time

  std::string tenant, policy, limit, reason, request_id;  // empty: none
  std::string key;                                        // a pseudonym; empty: keys are not shown
  std::string_view store;
  std::int64_t policy_version = 0;
  std::int64_t cost = 0, remaining = 0;  // remaining: -1 if no limit applied
  bool allowed = false, degraded = false, slow = false, replayed = false;
};

}  // namespace sluice

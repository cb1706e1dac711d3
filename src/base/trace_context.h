#pragma once

#include <array>
#include <cstdint>

namespace sluice {

// Where a request stands in a trace, as in the header `traceparent` (W3C Trace Context). A plain value.
struct TraceContext {
  std::array<std::uint8_t, 16> trace_id{};  // all zero: none
  std::array<std::uint8_t, 8> span_id{};
  std::uint8_t flags = 0;

  // The trace is being recorded.
  bool is_sampled() const { return (flags & 1) != 0; }
};

}  // namespace sluice

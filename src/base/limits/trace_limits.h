#pragma once

#include <cstddef>
#include <cstdint>

namespace sluice {

// What tracing may cost a node, whatever callers send.
inline constexpr std::int64_t kCallerTracesPerSecond = 100;  // that a caller's `sampled` flag turns on
inline constexpr std::int64_t kTroubleSpansPerSecond = 100;  // of degraded and slow checks outside of those
inline constexpr std::int64_t kSpansPerSecond = 5'000;
inline constexpr std::size_t kSpanRingSize = 2'048;  // spans of one loop that wait for the exporter
inline constexpr std::size_t kSpansPerExport = 512;
inline constexpr std::size_t kSpanTextBytesMax = 256;
inline constexpr std::size_t kOtlpAnswerBytesMax = 64u << 10;
inline constexpr std::size_t kOtlpHeadersMax = 32;
inline constexpr std::size_t kOtlpAttributesMax = 64;

}  // namespace sluice

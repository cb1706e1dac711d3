#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "telemetry/trace/span.h"

namespace sluice {

// What every span of this process has in common: `service.name` and so on.
using ResourceAttributes = std::vector<std::pair<std::string, std::string>>;

// Writes spans as an ExportTraceServiceRequest of OTLP 1.x, in protobuf. Not thread-safe; reused, so that it
// allocates nothing once warm.
//
//   OtlpEncoder encoder({{"service.name", "sluice"}}, "0.1.0");
//   encoder.add(span);
//   post(encoder.finish());
//   encoder.clear();
class OtlpEncoder {
 public:
  OtlpEncoder(const ResourceAttributes& resource, std::string_view version);

  void add(const Span& span);
  std::size_t size() const { return count_; }
  // The message; valid until clear().
  const std::string& finish();
  void clear();

 private:
  std::string resource_, scope_;  // encoded
  std::string spans_;             // encoded, as fields of a ScopeSpans
  std::string message_;
  std::size_t count_ = 0;
};

// How many spans an ExportTraceServiceResponse says were refused; 0 if it cannot be read.
std::uint64_t rejected_spans(std::string_view response);

}  // namespace sluice

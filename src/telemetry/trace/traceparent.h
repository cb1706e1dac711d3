#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/trace_context.h"

// The headers of W3C Trace Context (https://www.w3.org/TR/trace-context/), as pure functions.
namespace sluice {

// Reads "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01". Nothing if it is malformed, or an id is
// all zero; the specification says to go on as if there were no header then. A later version may have more
// fields; those are ignored.
std::optional<TraceContext> parse_traceparent(std::string_view header);

// The inverse, as version 00.
std::string traceparent_text(const TraceContext& context);

// The header `tracestate` if it is one: at most 512 bytes and 32 members `key=value`. Else nothing: a state
// that cannot be read is dropped as a whole.
std::string_view readable_tracestate(std::string_view header);

}  // namespace sluice

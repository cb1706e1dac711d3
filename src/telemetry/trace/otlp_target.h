#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/error.h"
#include "base/tls_settings.h"
#include "net/http/server_url.h"
#include "telemetry/trace/otlp_encoder.h"

namespace sluice {

// Where spans are sent, and what is said about this process. Plain data.
struct OtlpTarget {
  net::ServerUrl server;
  std::string path;                                          // "/v1/traces"
  TlsSettings tls;                                           // for https
  std::vector<std::pair<std::string, std::string>> headers;  // secrets may be among them: never log them
  ResourceAttributes resource;
};

// Reads --otlp and, as OpenTelemetry's specification of environment variables says,
// OTEL_EXPORTER_OTLP_ENDPOINT, …_TRACES_ENDPOINT, …_HEADERS, …_PROTOCOL, …_CERTIFICATE, …_CLIENT_CERTIFICATE,
// …_CLIENT_KEY, OTEL_SERVICE_NAME, OTEL_RESOURCE_ATTRIBUTES and OTEL_SDK_DISABLED. The flag wins. Nothing: no
// spans are exported. The error's field names the flag or the variable; it repeats no header.
//
// An endpoint is the address of a collector: /v1/traces is added to its path. …_TRACES_ENDPOINT is used as it
// is.
Result<std::optional<OtlpTarget>> read_otlp_target(
    const std::string& flag, const std::function<const char*(const char* name)>& environment);

}  // namespace sluice

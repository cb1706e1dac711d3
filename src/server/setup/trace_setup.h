#pragma once

#include <memory>

#include "base/clock.h"
#include "base/secret/secret_ring.h"
#include "server/cells/cells.h"
#include "server/observe/span_maker.h"
#include "server/serve_options.h"
#include "telemetry/trace/otlp_exporter.h"

namespace sluice::server {

// The exporter of spans to the collector of --otlp, or of OpenTelemetry's variables; null: there is none, and
// nothing is traced. Throws a CommandError that names the setting. The clock outlives it.
std::unique_ptr<OtlpExporter> open_exporter(const ServeOptions& options, const Clock& clock);

// How each of the threads makes spans.
SpanMaker::Options span_options(const ServeOptions& options, int threads, const Cells& cells,
                                const SecretRing* key_secrets);

}  // namespace sluice::server

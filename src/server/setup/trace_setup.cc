#include "server/setup/trace_setup.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>

#include "document/literals.h"
#include "server/command_error.h"
#include "telemetry/log/log.h"

namespace sluice::server {

std::unique_ptr<OtlpExporter> open_exporter(const ServeOptions& options, const Clock& clock) {
  auto target = read_otlp_target(options.otlp, [](const char* name) { return std::getenv(name); });
  if (!target) throw CommandError(fmt::format("{}: {}", target.error().field, target.error().message));
  if (!*target) return nullptr;
  (*target)->resource.emplace_back("service.version", SLUICE_VERSION);
  return std::make_unique<OtlpExporter>(
      std::move(**target),
      OtlpExporter::Options{.clock = clock, .log = log_writer(), .version = SLUICE_VERSION});
}

SpanMaker::Options span_options(const ServeOptions& options, int threads, const Cells& cells,
                                const SecretRing* key_secrets) {
  const std::int64_t slow_us = parse_duration_us(options.trace_slow).value_or(0);  // the flag was checked
  return {.slow_ns = std::min(slow_us, INT64_MAX / 1'000) * 1'000,
          .threads = threads,
          .store = cells.list().front().store.redis ? "redis" : "memory",
          .key_secrets = key_secrets};
}

}  // namespace sluice::server

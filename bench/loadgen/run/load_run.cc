#include "loadgen/run/load_run.h"

#include <charconv>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "base/try.h"
#include "loadgen/client/connection.h"
#include "loadgen/client/grpc_protocol.h"
#include "loadgen/client/http_protocol.h"
#include "loadgen/client/worker.h"
#include "loadgen/run/window_run.h"
#include "net/tls/tls_context.h"

namespace sluice::loadgen {
namespace {

constexpr const char* kCheckMethod = "/sluice.v1.RateLimiter/CheckAndIncrement";
constexpr const char* kEnvoyMethod = "/envoy.service.ratelimit.v3.RateLimitService/ShouldRateLimit";

Payload make_payload(const BenchOptions& options, const Recording* recording) {
  if (recording != nullptr)
    return options.mode == BenchOptions::Mode::kHttp ? Payload::http_recorded(*recording, options.server)
                                                     : Payload::grpc_recorded(*recording);
  if (options.mode == BenchOptions::Mode::kHttp) return Payload::http_check(options.shape, options.server);
  if (options.mode == BenchOptions::Mode::kEnvoy) return Payload::grpc_envoy(options.shape);
  return options.method.empty() ? Payload::grpc_check(options.shape)
                                : Payload::grpc_constant(options.message);
}

GrpcCalls make_calls(const BenchOptions& options) {
  GrpcCalls calls{.target = {.authority = options.server, .tls = options.tls}, .path = kEnvoyMethod};
  if (options.mode == BenchOptions::Mode::kEnvoy) return calls;
  calls.path = options.method.empty() ? kCheckMethod : options.method;
  calls.is_check = calls.path == kCheckMethod;
  return calls;
}

Connection::MakeTls tls_maker(const BenchOptions& options) {
  if (!options.tls) return {};
  const std::string_view protocol = options.mode == BenchOptions::Mode::kHttp ? "http/1.1" : "h2";
  redis::Address address{.host = host_of(options.server)};
  const std::size_t port_at = options.server.rfind(':') + 1;
  std::from_chars(options.server.data() + port_at, options.server.data() + options.server.size(),
                  address.port);
  // A context belongs to one thread, and the files are small.
  return [files = options.tls_files, protocol, address](std::string& why) {
    return net::TlsClientContext(files).connect(address, why, protocol);
  };
}

// Thread i of n gets the i-th share of the connections, as evenly as possible.
std::size_t share_of(std::size_t connections, std::size_t i, std::size_t n) {
  return connections * (i + 1) / n - connections * i / n;
}

Schedule make_schedule(const BenchOptions& options, const Recording* recording, const Window& window,
                       std::uint32_t thread) {
  const Schedule::Share share{.thread = thread, .threads = options.threads};
  const std::int64_t start_us = window.start_us - options.warmup_us;
  if (recording != nullptr && options.replay.speed > 0)
    return {*recording, options.replay.speed, start_us, share};
  return {options.rate_per_second, start_us, share};
}

Worker::NextKey make_keys(const BenchOptions& options, const Recording* recording, std::uint32_t thread) {
  if (recording == nullptr)
    return [keys = KeySource(options.keys, options.distribution, options.seed + thread)]() mutable {
      return std::optional(keys.next());
    };
  return [next = std::uint64_t{thread}, size = recording->size(), step = options.threads]() mutable {
    const std::uint64_t n = std::exchange(next, next + step);
    return n < size ? std::optional(static_cast<std::uint32_t>(n)) : std::nullopt;
  };
}

}  // namespace

std::expected<Measurement, std::string> run_load(const BenchOptions& options, const Clock& clock,
                                                 const Recording* recording) {
  const auto address = SLUICE_TRY(resolve(options.server));
  if (std::string why; options.tls && !tls_maker(options)(why)) return std::unexpected(why);
  SLUICE_TRY(probe(address, options.server));

  const Payload payload = make_payload(options, recording);
  const GrpcCalls calls = make_calls(options);
  Worker::Load load{
      .connections = 0, .address = address, .make_protocol = {}, .make_tls = tls_maker(options)};
  load.make_protocol = [&]() -> std::unique_ptr<Protocol> {
    if (options.mode == BenchOptions::Mode::kHttp)
      return std::make_unique<HttpProtocol>(payload, options.streams);
    return std::make_unique<GrpcProtocol>(calls, payload, options.streams);
  };

  Window window;
  open_window(window, options, clock);
  std::vector<std::unique_ptr<Worker>> workers;
  std::vector<std::function<void()>> threads;
  for (std::uint32_t i = 0; i < options.threads; ++i) {
    load.connections = share_of(options.connections, i, options.threads);
    workers.push_back(std::make_unique<Worker>(
        clock, window, load, make_schedule(options, recording, window, i), make_keys(options, recording, i)));
    threads.emplace_back([worker = workers.back().get()] { worker->run(); });
  }
  Measurement measured = run_through_window(window, options, clock, threads);
  for (const auto& worker : workers) measured.tally.merge(worker->recorder().tally());
  return measured;
}

}  // namespace sluice::loadgen

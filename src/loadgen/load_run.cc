#include "loadgen/load_run.h"

#include <memory>
#include <thread>
#include <vector>

#include "loadgen/connection.h"
#include "loadgen/grpc_protocol.h"
#include "loadgen/http_protocol.h"
#include "loadgen/interruptible_wait.h"
#include "loadgen/process_cpu.h"
#include "loadgen/worker.h"

namespace sluice::loadgen {
namespace {

constexpr const char* kCheckMethod = "/sluice.v1.RateLimiter/CheckAndIncrement";

Payload make_payload(const BenchOptions& options) {
  if (options.mode == BenchOptions::Mode::kHttp) return Payload::http_check(options.shape, options.server);
  return options.method.empty() ? Payload::grpc_check(options.shape)
                                : Payload::grpc_constant(options.message);
}

GrpcTarget make_target(const BenchOptions& options) {
  const bool is_check = options.method.empty() || options.method == kCheckMethod;
  return {options.server, options.method.empty() ? kCheckMethod : options.method, is_check};
}

// Thread i of n gets the i-th share of the connections, as even as can be.
std::size_t share_of(std::size_t connections, std::size_t i, std::size_t n) {
  return connections * (i + 1) / n - connections * i / n;
}

}  // namespace

std::expected<Measurement, std::string> run_load(const BenchOptions& options, const Clock& clock) {
  const auto address = resolve(options.server);
  if (!address) return std::unexpected(address.error());
  if (const auto reachable = probe(*address, options.server); !reachable)
    return std::unexpected(reachable.error());
  if (options.server_pid != 0 && !process_cpu_us(options.server_pid))
    return std::unexpected("there is no process " + std::to_string(options.server_pid) +
                           " for --server-pid.");

  const Payload payload = make_payload(options);
  const GrpcTarget target = make_target(options);
  Worker::Load load{.connections = 0, .address = *address, .make_protocol = {}};
  load.make_protocol = [&]() -> std::unique_ptr<Protocol> {
    if (options.mode == BenchOptions::Mode::kHttp)
      return std::make_unique<HttpProtocol>(payload, options.streams);
    return std::make_unique<GrpcProtocol>(target, payload, options.streams);
  };

  Window window;
  const std::int64_t begin_us = clock.now_us();
  window.start_us = begin_us + options.warmup_us;
  window.end_us = window.start_us + options.duration_us;
  InterruptibleWait wait(clock);
  std::vector<std::unique_ptr<Worker>> workers;
  for (std::uint32_t i = 0; i < options.threads; ++i) {
    load.connections = share_of(options.connections, i, options.threads);
    workers.push_back(std::make_unique<Worker>(
        clock, window, load,
        Schedule(options.rate_per_second, begin_us, {.thread = i, .threads = options.threads}),
        KeySource(options.keys, options.distribution, options.seed + i)));
  }

  Measurement measured;
  {
    std::vector<std::jthread> threads;
    for (auto& worker : workers) threads.emplace_back([&worker] { worker->run(); });
    wait.until(window.start_us);
    const auto server_before = process_cpu_us(options.server_pid);
    const std::int64_t client_before = own_cpu_us();
    measured.interrupted = !wait.until(window.end_us);
    const auto server_after = process_cpu_us(options.server_pid);
    measured.client_cpu_us = own_cpu_us() - client_before;
    if (measured.interrupted) window.end_us = clock.now_us();
    if (options.server_pid != 0 && server_before && server_after)
      measured.server_cpu_us = *server_after - *server_before;
  }
  measured.elapsed_us = std::max<std::int64_t>(window.end_us - window.start_us, 0);
  for (const auto& worker : workers) measured.tally.merge(worker->recorder().tally());
  return measured;
}

}  // namespace sluice::loadgen

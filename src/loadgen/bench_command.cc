#include "loadgen/bench_command.h"

#include <CLI/CLI.hpp>
#include <cmath>
#include <fstream>
#include <iostream>
#include <iterator>

#include "base/limits.h"
#include "loadgen/direct_run.h"
#include "loadgen/load_run.h"

namespace sluice::loadgen {
namespace {

constexpr std::uint32_t kConnectionsMax = 10'000;
constexpr std::uint32_t kStreamsMax = 10'000;
constexpr std::uint32_t kThreadsMax = 256;
constexpr std::int64_t kRateMax = 10'000'000;
constexpr double kSecondsMax = 86'400;
constexpr std::size_t kMessageBytesMax = 16 * 1024;

std::int64_t to_us(double seconds) { return std::llround(seconds * 1e6); }

std::string from_hex(const std::string& hex) {
  const auto is_hex = [](char c) { return std::isxdigit(static_cast<unsigned char>(c)) != 0; };
  if (hex.size() % 2 != 0 || !std::all_of(hex.begin(), hex.end(), is_hex))
    throw CLI::ValidationError("--payload-hex", "must be pairs of hexadecimal digits");
  std::string bytes;
  for (std::size_t i = 0; i < hex.size(); i += 2)
    bytes += static_cast<char>(std::stoi(hex.substr(i, 2), nullptr, 16));
  return bytes;
}

std::string from_file(const std::string& name) {
  std::ifstream file(name, std::ios::binary);
  if (!file) throw CLI::ValidationError("--payload-file", "cannot read '" + name + "'");
  return {std::istreambuf_iterator<char>(file), {}};
}

std::string bounded(std::string message) {
  if (message.size() > kMessageBytesMax) throw CLI::ValidationError("payload", "must be at most 16 KiB");
  return message;
}

void add_what(CLI::App& app, BenchOptions& options) {
  using Mode = BenchOptions::Mode;
  app.add_option("server", options.server, "HOST:PORT of the server")->capture_default_str();
  auto* grpc = app.add_flag_callback("--grpc", [&] { options.mode = Mode::kGrpc; }, "gRPC (the default)");
  auto* http = app.add_flag_callback("--http", [&] { options.mode = Mode::kHttp; }, "JSON over HTTP/1.1");
  auto* direct = app.add_flag_callback(
      "--direct", [&] { options.mode = Mode::kDirect; }, "in this process, without a server");
  auto* policies = app.add_option("--policies", options.policies, "policy file of --direct");
  grpc->excludes(http)->excludes(direct);
  http->excludes(direct);
  direct->needs(policies);
  policies->needs(direct);
  app.add_option("--tenant", options.shape.tenant, "tenant of every check")->capture_default_str();
  app.add_option("--resource", options.shape.resource, "resource of every check")->capture_default_str();
  app.add_option("--policy", options.shape.policy_id,
                 "policy id of every check (default: by tenant and resource)");
  app.add_option("--dimension", options.shape.dimension, "the dimension that varies")
      ->capture_default_str()
      ->check([](const std::string& text) {
        return text.empty() || text.size() > kNameBytesMax ? "must be 1 to 128 bytes" : "";
      });
  auto* method =
      app.add_option("--method", options.method, "another unary gRPC method, /package.Service/Method")
          ->excludes(http);
  app.add_option_function<std::string>(
         "--payload-hex", [&](const std::string& hex) { options.message = bounded(from_hex(hex)); },
         "its serialized request")
      ->needs(method);
  app.add_option_function<std::string>(
         "--payload-file", [&](const std::string& name) { options.message = bounded(from_file(name)); },
         "the same from a file")
      ->needs(method);
}

void add_load(CLI::App& app, BenchOptions& options) {
  app.add_option("--keys", options.keys, "number of distinct keys")
      ->capture_default_str()
      ->check(CLI::Range(1u, Payload::kKeysMax));
  app.add_option_function<std::string>(
      "--distribution",
      [&](const std::string& text) {
        const auto parsed = Distribution::parse(text);
        if (!parsed) throw CLI::ValidationError("--distribution", parsed.error());
        options.distribution = *parsed;
      },
      "uniform (the default) or zipf:THETA");
  app.add_option("--seed", options.seed, "same seed, same keys")->capture_default_str();
  app.add_option("--connections", options.connections, "")
      ->capture_default_str()
      ->check(CLI::Range(1u, kConnectionsMax));
  app.add_option("--streams", options.streams, "calls under way per connection (HTTP/1.1: pipelined)")
      ->capture_default_str()
      ->check(CLI::Range(1u, kStreamsMax));
  app.add_option("--threads", options.threads, "")->capture_default_str()->check(CLI::Range(1u, kThreadsMax));
  app.add_option("--rate", options.rate_per_second, "open loop: calls per second (default: closed loop)")
      ->check(CLI::Range(std::int64_t{1}, kRateMax));
  app.add_option_function<double>(
         "--duration", [&](double seconds) { options.duration_us = to_us(seconds); }, "seconds measured (10)")
      ->check(CLI::Range(0.001, kSecondsMax));
  app.add_option_function<double>(
         "--warmup", [&](double seconds) { options.warmup_us = to_us(seconds); }, "seconds before that (1)")
      ->check(CLI::Range(0.0, kSecondsMax));
}

int fail(const std::string& sentence) {
  std::cerr << "sluice bench: " << sentence << "\n";
  return 2;
}

}  // namespace

void add_bench_options(CLI::App& app, BenchOptions& options) {
  add_what(app, options);
  add_load(app, options);
  app.add_option("--server-pid", options.server_pid, "also tell the CPU time of this process per check")
      ->check(CLI::PositiveNumber);
  app.add_option("--json", options.json_file, "write the result to this file, too");
  app.footer(
      "Example: sluice bench 127.0.0.1:8080 --connections 8 --streams 50 --keys 100000 --distribution "
      "zipf:0.99");
}

int run_bench(const BenchOptions& options) {
  const bool direct = options.mode == BenchOptions::Mode::kDirect;
  if (!direct && options.threads > options.connections)
    return fail("--threads must not be more than --connections.");
  const SystemClock clock;
  const auto measured = direct ? run_direct(options, clock) : run_load(options, clock);
  if (!measured) return fail(measured.error());
  std::cout << to_table(options, *measured) << std::flush;
  if (!options.json_file.empty()) {
    std::ofstream file(options.json_file);
    file << to_json(options, *measured);
    if (!file.flush()) return fail("cannot write '" + options.json_file + "'.");
  }
  return measured->tally.failed == 0 ? 0 : 1;
}

}  // namespace sluice::loadgen

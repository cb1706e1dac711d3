#include "loadgen/bench_command.h"

#include <CLI/CLI.hpp>
#include <cmath>
#include <fstream>
#include <iostream>
#include <iterator>
#include <optional>

#include "base/limits.h"
#include "base/try.h"
#include "loadgen/measure/process_cpu.h"
#include "loadgen/run/direct_run.h"
#include "loadgen/run/load_run.h"

namespace sluice::loadgen {
namespace {

constexpr std::uint32_t kConnectionsMax = 10'000;
constexpr std::uint32_t kStreamsMax = 10'000;
constexpr std::uint32_t kInFlightMax = 100'000;
constexpr std::uint32_t kThreadsMax = 256;
constexpr std::int64_t kCallsPerSecondMax = 10'000'000;
constexpr double kSecondsMax = 86'400;
constexpr std::int64_t kDurationUs = 10'000'000, kReplayUsMax = std::int64_t{86'400} * 1'000'000;
constexpr double kSpeedMax = 1'000'000;
constexpr std::size_t kMessageBytesMax = 16u << 10;

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

void add_call(CLI::App& app, BenchOptions& o) {
  using Mode = BenchOptions::Mode;
  const auto set_server = [&o](const std::string& text) {
    constexpr std::string_view kHttps = "https://";
    o.tls = text.starts_with(kHttps);
    o.server = o.tls ? text.substr(kHttps.size()) : text;
  };
  app.add_option_function<std::string>("server", set_server,
                                       "HOST:PORT (127.0.0.1:8080), or https://HOST:PORT");
  app.add_option("--ca", o.tls_files.ca_file,
                 "https: PEM file with the CAs to trust for the server's certificate (the system's)")
      ->type_name("FILE");
  auto* certificate =
      app.add_option("--client-cert", o.tls_files.certificate_file, "https: client certificate to present");
  auto* key = app.add_option("--client-key", o.tls_files.key_file, "its key");
  certificate->type_name("FILE")->needs(key);
  key->type_name("FILE")->needs(certificate);
  auto* mode = app.add_option_group("mode");
  mode->add_flag_callback("--grpc", [&o] { o.mode = Mode::kGrpc; }, "gRPC (the default)");
  mode->add_flag_callback("--http", [&o] { o.mode = Mode::kHttp; }, "JSON over HTTP/1.1");
  mode->add_flag_callback(
      "--envoy", [&o] { o.mode = Mode::kEnvoy; }, "Envoy's rate limit service, two descriptors");
  mode->add_flag_callback("--direct", [&o] { o.mode = Mode::kDirect; }, "in this process; needs --policies");
  mode->require_option(0, 1);
  app.add_option("--policies", o.policies, "policy file of --direct")->type_name("FILE");
  app.add_option("--store", o.store, "store for the counters of --direct: redis://…, as in serve (memory)")
      ->type_name("URL");
  const auto set_tenant = [&o](const std::string& tenant) { o.shape.tenant = o.replay.tenant = tenant; };
  app.add_option_function<std::string>("--tenant", set_tenant,
                                       "tenant of every check (bench; with --replay: from the log)");
  app.add_option("--resource", o.shape.resource, "resource of every check (/bench)");
  app.add_option("--policy", o.shape.policy_id, "policy id of every check (by tenant and resource)");
  app.add_option("--dimension", o.shape.dimension, "the dimension that varies (key)");
  app.add_option("--method", o.method, "another unary gRPC method: /package.Service/Method");
  const auto set_hex = [&o](const std::string& hex) { o.message = bounded(from_hex(hex)); };
  const auto set_file = [&o](const std::string& name) { o.message = bounded(from_file(name)); };
  app.add_option_function<std::string>("--payload-hex", set_hex, "its serialized request");
  app.add_option_function<std::string>("--payload-file", set_file, "the same from a file");
}

void add_replay(CLI::App& app, BenchOptions& o) {
  ReplayOptions& replay = o.replay;
  auto* file = app.add_option("--replay", replay.file,
                              "send the requests of this log, as sluice plan reads it; .gz, -");
  file->type_name("LOG");
  auto speeds = CLI::Range(0.0, kSpeedMax);
  app.add_option("--speed", replay.speed,
                 "replay speed as a multiple of the log's pace (1); 0: as fast as possible")
      ->type_name("X")
      ->check(speeds.description(""))
      ->needs(file);
  auto formats = CLI::IsMember({"auto", "common", "combined", "json", "events"});
  app.add_option("--format", replay.format, "of the log: auto, common, combined, json or events (auto)")
      ->type_name("F")
      ->check(formats.description(""))
      ->needs(file);
  app.add_option("--tenant-from", replay.tenant_from, "field of the log that names the tenant (tenant)")
      ->type_name("FIELD")
      ->needs(file);
  app.add_option("--key", replay.key, "field that is the key (user, else ip)")
      ->type_name("FIELD")
      ->needs(file);
  app.add_option("--cost", replay.cost, "field that holds the cost (none)")->type_name("FIELD")->needs(file);
  app.add_option("--map", replay.maps, "dimension=field; may be repeated")
      ->type_name("D=F")
      ->allow_extra_args(false)
      ->needs(file);
}

// A number within bounds; keeps the help on one line.
template <class T>
void add_number(CLI::App& app, const char* name, T& value, T min, T max, const char* help) {
  auto range = CLI::Range(min, max);
  app.add_option(name, value, help)->type_name("N")->check(range.description(""));
}

void add_seconds(CLI::App& app, const char* name, std::int64_t& us, double min, const char* help) {
  auto range = CLI::Range(min, kSecondsMax);
  app.add_option_function<double>(
         name, [&us](double seconds) { us = std::llround(seconds * 1e6); }, help)
      ->type_name("S")
      ->check(range.description(""));
}

void add_load(CLI::App& app, BenchOptions& o) {
  add_number(app, "--keys", o.keys, 1u, Payload::kKeysMax, "distinct keys (100000)");
  const auto set_distribution = [&o](const std::string& text) {
    const auto parsed = Distribution::parse(text);
    if (!parsed) throw CLI::ValidationError("--distribution", parsed.error());
    o.distribution = *parsed;
  };
  app.add_option_function<std::string>("--distribution", set_distribution,
                                       "uniform (the default) or zipf:THETA");
  app.add_option("--seed", o.seed, "same seed, same keys (1)")->type_name("N");
  add_number(app, "--connections", o.connections, 1u, kConnectionsMax, "connections (8)");
  add_number(app, "--streams", o.streams, 1u, kStreamsMax,
             "concurrent calls per connection (50); HTTP/1.1: pipelined");
  add_number(app, "--in-flight", o.in_flight, 1u, kInFlightMax,
             "--direct --store: concurrent checks per thread (400)");
  app.add_flag("--no-merging{false}", o.merges, "--direct --store: send equal checks one by one");
  app.add_flag("--node-leases", o.node_leases, "--direct --store: as in serve");
  add_number(app, "--threads", o.threads, 1u, kThreadsMax, "threads of load (1)");
  add_number(app, "--rate", o.rate_per_second, std::int64_t{1}, kCallsPerSecondMax,
             "open loop: calls per second (default: closed loop)");
  add_seconds(app, "--duration", o.duration_us, 0.001,
              "seconds to measure (10; with --replay: the whole log)");
  add_seconds(app, "--warmup", o.warmup_us, 0, "seconds before that (1)");
}

// Checks combinations of options; empty: no contradiction.
std::string contradiction_in(const BenchOptions& o) {
  using Mode = BenchOptions::Mode;
  if (o.mode == Mode::kDirect && o.policies.empty()) return "--direct needs --policies FILE.";
  if (o.mode != Mode::kDirect && o.threads > o.connections)
    return "--threads must not be more than --connections.";
  if (o.mode != Mode::kGrpc && !o.method.empty()) return "--method is for gRPC only.";
  if (o.store.empty() && (o.node_leases || !o.merges))
    return "--no-merging and --node-leases need --direct and --store.";
  if (o.mode != Mode::kDirect && !o.store.empty()) return "--store is for --direct; a server has its own.";
  if (o.in_nanoseconds() && o.rate_per_second != 0)
    return "--rate needs a server or --store; --direct in memory always runs at full speed.";
  if (o.is_replay() && (o.mode == Mode::kEnvoy || !o.method.empty() || !o.store.empty()))
    return "--replay works over gRPC, with --http, or with --direct in memory.";
  if (o.is_replay() && o.rate_per_second != 0)
    return "--replay follows the pace of the log; use --speed to change it.";
  if (o.server_pid != 0 && !process_cpu_us(o.server_pid))
    return "there is no process " + std::to_string(o.server_pid) + " for --server-pid.";
  if (o.method.empty() && !o.message.empty()) return "--payload-hex and --payload-file need --method.";
  if (o.shape.dimension.empty() || o.shape.dimension.size() > kNameBytesMax)
    return "--dimension must be 1 to 128 bytes.";
  return {};
}

std::expected<Measurement, std::string> measure(const BenchOptions& options, const Clock& clock,
                                                const MakeStore& make_store) {
  std::optional<Recording> recording;
  if (options.is_replay()) recording = SLUICE_TRY(Recording::read(options.replay));
  const Recording* const replayed = recording ? &*recording : nullptr;
  if (options.mode != BenchOptions::Mode::kDirect) return run_load(options, clock, replayed);
  return options.store.empty() ? run_direct(options, clock, replayed)
                               : run_on_store(options, clock, make_store);
}

int fail(const std::string& sentence) {
  std::cerr << "sluice bench: " << sentence << "\n";
  return 2;
}

}  // namespace

void add_bench_options(CLI::App& app, BenchOptions& o) {
  add_call(app, o);
  add_replay(app, o);
  add_load(app, o);
  app.add_option("--server-pid", o.server_pid, "also report this process's CPU time per check")
      ->type_name("PID");
  app.add_option("--json", o.json_file, "write the result to this file, too")->type_name("FILE");
  app.footer("Example: sluice bench 127.0.0.1:8080 --keys 1000000 --distribution zipf:0.99 --rate 50000");
}

int run_bench(const BenchOptions& given, const MakeStore& make_store) {
  BenchOptions options = given;
  if (options.is_replay()) options.warmup_us = 0;
  if (options.duration_us == 0) options.duration_us = options.is_replay() ? kReplayUsMax : kDurationUs;
  if (const std::string wrong = contradiction_in(options); !wrong.empty()) return fail(wrong);
  const SystemClock clock;
  const auto measured = measure(options, clock, make_store);
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

#include "loadgen/measure/report.h"

#include <array>
#include <cstdarg>
#include <cstdio>
#include <string_view>
#include <utility>

#include "base/text/number_text.h"

namespace sluice::loadgen {
namespace {

constexpr std::array<std::pair<const char*, double>, 4> kQuantiles = {
    {{"p50", 0.5}, {"p90", 0.9}, {"p99", 0.99}, {"p99.9", 0.999}}};

[[gnu::format(printf, 1, 2)]] std::string text(const char* format, ...) {
  char buffer[512];
  va_list arguments;
  va_start(arguments, format);
  std::vsnprintf(buffer, sizeof buffer, format, arguments);
  va_end(arguments);
  return buffer;
}

std::string json_quoted(std::string_view raw) {
  std::string out = "\"";
  for (const char c : raw) {
    if (c == '"' || c == '\\') {
      (out += '\\') += c;
    } else if (static_cast<unsigned char>(c) < 0x20) {
      out += text("\\u%04x", static_cast<unsigned>(c));
    } else {
      out += c;
    }
  }
  return out + '"';
}

const char* name_of(BenchOptions::Mode mode) {
  switch (mode) {
    case BenchOptions::Mode::kGrpc:
      return "grpc";
    case BenchOptions::Mode::kHttp:
      return "http";
    case BenchOptions::Mode::kDirect:
      return "direct";
    case BenchOptions::Mode::kEnvoy:
      return "envoy";
  }
  return "";
}

std::string pace_of(const BenchOptions& options) {
  if (options.is_replay() && options.replay.speed > 0)
    return text("%g × the log's pace", options.replay.speed);
  if (options.rate_per_second == 0) return "closed loop";
  return "open loop " + grouped(static_cast<std::uint64_t>(options.rate_per_second)) + "/s";
}

std::string describe(const BenchOptions& options) {
  const std::string keys = options.is_replay()
                               ? "replay of " + options.replay.file
                               : grouped(options.keys) + " keys " + options.distribution.text();
  if (options.is_replay() && options.mode == BenchOptions::Mode::kDirect)
    return text("direct · %u threads · %s · %s", options.threads, pace_of(options).c_str(), keys.c_str());
  if (options.in_nanoseconds()) return text("direct · %u threads · %s", options.threads, keys.c_str());
  const std::string pace = pace_of(options);
  if (options.mode == BenchOptions::Mode::kDirect)
    return text("direct, remote store · %u threads × %u · %s · %s", options.threads, options.in_flight,
                pace.c_str(), keys.c_str());
  return text("%s %s · %u connections × %u · %s · %s", name_of(options.mode), options.server.c_str(),
              options.connections, options.streams, pace.c_str(), keys.c_str());
}

}  // namespace

double Measurement::checks_per_second() const {
  return elapsed_us <= 0 ? 0 : static_cast<double>(tally.answered()) * 1e6 / static_cast<double>(elapsed_us);
}

double Measurement::per_check(std::int64_t cpu_us) const {
  return tally.answered() == 0 ? 0 : static_cast<double>(cpu_us) / static_cast<double>(tally.answered());
}

std::string to_table(const BenchOptions& options, const Measurement& measured) {
  const Tally& tally = measured.tally;
  std::string out = describe(options) + (measured.interrupted ? " · interrupted\n" : "\n");
  out += text("  checks/s     %s   in %.2f s\n",
              grouped(static_cast<std::uint64_t>(measured.checks_per_second())).c_str(),
              static_cast<double>(measured.elapsed_us) / 1e6);
  out +=
      text("  allowed      %s   denied %s   errors %s   unanswered %s\n", grouped(tally.allowed).c_str(),
           grouped(tally.denied).c_str(), grouped(tally.failed).c_str(), grouped(tally.unanswered).c_str());
  out += options.in_nanoseconds() ? "  latency ns  " : "  latency µs  ";
  for (const auto& [name, q] : kQuantiles)
    out += text(" %s %s  ", name, grouped(static_cast<std::uint64_t>(tally.latency.quantile(q))).c_str());
  out += text(" max %s\n", grouped(static_cast<std::uint64_t>(tally.latency.max())).c_str());
  if (measured.server_cpu_us)
    out += text("  server CPU   %.3f µs per check\n", measured.per_check(*measured.server_cpu_us));
  out += text("  own CPU      %.3f µs per check\n", measured.per_check(measured.client_cpu_us));
  if (!tally.first_failure.empty()) out += "  first error  " + tally.first_failure + "\n";
  return out;
}

std::string to_json(const BenchOptions& options, const Measurement& measured) {
  const Tally& tally = measured.tally;
  std::string out = "{\n";
  out += text("  \"mode\": \"%s\",\n", name_of(options.mode));
  out += "  \"server\": " + json_quoted(options.server) + ",\n";
  out += text("  \"connections\": %u, \"streams\": %u, \"threads\": %u, \"in_flight\": %u,\n",
              options.connections, options.streams, options.threads, options.in_flight);
  out += text("  \"rate_per_second\": %lld, \"keys\": %u, \"distribution\": \"%s\", \"seed\": %llu,\n",
              static_cast<long long>(options.rate_per_second), options.keys,
              options.distribution.text().c_str(), static_cast<unsigned long long>(options.seed));
  if (options.is_replay())
    out += "  \"replay\": " + json_quoted(options.replay.file) +
           text(", \"speed\": %g,\n", options.replay.speed);
  out += text("  \"elapsed_us\": %lld, \"interrupted\": %s,\n", static_cast<long long>(measured.elapsed_us),
              measured.interrupted ? "true" : "false");
  out += text("  \"checks_per_second\": %.1f,\n", measured.checks_per_second());
  out +=
      text("  \"allowed\": %llu, \"denied\": %llu, \"errors\": %llu, \"unanswered\": %llu,\n",
           static_cast<unsigned long long>(tally.allowed), static_cast<unsigned long long>(tally.denied),
           static_cast<unsigned long long>(tally.failed), static_cast<unsigned long long>(tally.unanswered));
  out += options.in_nanoseconds() ? "  \"latency_ns\": {" : "  \"latency_us\": {";
  for (const auto& [name, q] : kQuantiles)
    out += text("\"%s\": %lld, ", name, static_cast<long long>(tally.latency.quantile(q)));
  out +=
      text("\"max\": %lld, \"mean\": %.1f, \"count\": %llu},\n", static_cast<long long>(tally.latency.max()),
           tally.latency.mean(), static_cast<unsigned long long>(tally.latency.count()));
  if (measured.server_cpu_us)
    out += text("  \"server_cpu_us_per_check\": %.4f,\n", measured.per_check(*measured.server_cpu_us));
  out += text("  \"client_cpu_us_per_check\": %.4f,\n", measured.per_check(measured.client_cpu_us));
  out += "  \"first_error\": " + json_quoted(tally.first_failure) + "\n}\n";
  return out;
}

}  // namespace sluice::loadgen

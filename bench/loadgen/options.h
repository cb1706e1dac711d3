#pragma once

#include <cstdint>
#include <string>

#include "base/tls_settings.h"
#include "loadgen/traffic/check_payload.h"
#include "loadgen/traffic/key_source.h"
#include "loadgen/traffic/recording.h"

namespace sluice::loadgen {

// All options of `sluice bench`. The bounds are checked when the command line is parsed.
struct BenchOptions {
  enum class Mode : std::uint8_t { kGrpc, kHttp, kDirect, kEnvoy };
  Mode mode = Mode::kGrpc;
  std::string server = "127.0.0.1:8080";
  bool tls = false;       // the server was given as https://…
  TlsSettings tls_files;  // trusted CAs and client certificate for TLS

  // The call.
  CheckShape shape;
  std::string method;   // a gRPC method other than CheckAndIncrement; empty: that one
  std::string message;  // the method's serialized request

  // The keys.
  std::uint32_t keys = 100'000;
  Distribution distribution;
  std::uint64_t seed = 1;

  // The load.
  std::uint32_t connections = 8;
  std::uint32_t streams = 50;  // concurrent calls per connection
  std::uint32_t threads = 1;
  std::int64_t rate_per_second = 0;  // 0: closed loop
  std::int64_t duration_us = 0;      // 0: ten seconds, or until the end of the log
  std::int64_t warmup_us = 1'000'000;

  // Sends the checks of a log instead of those of `shape` and the keys; each once, without a warm-up.
  ReplayOptions replay;
  bool is_replay() const { return !replay.file.empty(); }

  // In process.
  std::string policies;           // policy file of kDirect
  std::string store;              // where the counters are; empty: in memory
  std::uint32_t in_flight = 400;  // concurrent checks per thread, on such a store
  bool merges = true;             // equal checks on such a store
  bool node_leases = false;       // units of hot keys are leased from such a store

  // Whether latencies are in nanoseconds, because a check takes less than a microsecond.
  bool in_nanoseconds() const { return mode == Mode::kDirect && store.empty(); }

  // The report.
  std::int32_t server_pid = 0;  // 0: do not measure its CPU time
  std::string json_file;        // empty: none
};

}  // namespace sluice::loadgen

#pragma once

#include <cstdint>
#include <string>

#include "loadgen/check_payload.h"
#include "loadgen/key_source.h"
#include "loadgen/recording.h"
#include "redis/redis_url.h"

namespace sluice::loadgen {

// Everything `sluice bench` can be told. The bounds are checked where the command line is read.
struct BenchOptions {
  enum class Mode : std::uint8_t { kGrpc, kHttp, kDirect, kEnvoy };
  Mode mode = Mode::kGrpc;
  std::string server = "127.0.0.1:8080";
  bool tls = false;              // the server was given as https://…
  redis::TlsSettings tls_files;  // whom we trust then, and who we are

  // The call.
  CheckShape shape;
  std::string method;   // another gRPC method than CheckAndIncrement; empty: that one
  std::string message;  // the method's serialized request

  // The keys.
  std::uint32_t keys = 100'000;
  Distribution distribution;
  std::uint64_t seed = 1;

  // The load.
  std::uint32_t connections = 8;
  std::uint32_t streams = 50;  // calls under way per connection
  std::uint32_t threads = 1;
  std::int64_t rate_per_second = 0;  // 0: closed loop
  std::int64_t duration_us = 0;      // 0: ten seconds, or to the end of the log
  std::int64_t warmup_us = 1'000'000;

  // The checks of a log instead of those of `shape` and the keys; each once, without a warm-up.
  ReplayOptions replay;
  bool is_replay() const { return !replay.file.empty(); }

  // In process.
  std::string policies;           // policy file of kDirect
  std::string store;              // where its counters live; empty: in memory
  std::uint32_t in_flight = 400;  // checks under way per thread, on such a store

  // Whether latencies are told in nanoseconds, because a check takes less than a microsecond.
  bool in_nanoseconds() const { return mode == Mode::kDirect && store.empty(); }

  // The report.
  std::int32_t server_pid = 0;  // 0: don't ask for its CPU time
  std::string json_file;        // empty: none
};

}  // namespace sluice::loadgen

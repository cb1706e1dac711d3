#pragma once

#include <chrono>
#include <cstddef>
#include <functional>
#include <memory>
#include <string>

#include <sluice/export.h>
#include <sluice/limiter.h>

namespace sluice {

// A limiter, or why there is none.
struct Opened {
  std::unique_ptr<Limiter> limiter;
  std::string error;  // what is wrong, with line and field where a document is

  explicit operator bool() const { return limiter != nullptr; }
};

// Policies as text or as a file, YAML or JSON, as `sluice serve --policies` reads them (docs/policies.md). A
// file is read once.
struct PolicySource {
  std::string text = {};
  std::string file = {};           // or a directory; used if `text` is empty
  bool may_deny_everyone = false;  // false: a policy that would deny every request is an error
};

// Counters in this process. Never blocks.
struct MemoryOptions {
  PolicySource policies = {};
  std::string default_tenant = {};                    // for checks without a tenant
  std::size_t memory_bytes = std::size_t{256} << 20;  // at most, for counters; memory grows with use
};
SLUICE_EXPORT Opened open_memory(const MemoryOptions& options);

// Counters in Redis: one server, behind Sentinel, or a Cluster. Processes with the same policies, URL, prefix
// and key secret share their limits, among each other and with Sluice servers. While Redis does not answer,
// the policy's failure rule decides (`on_failure`), and the answer is `degraded`.
struct RedisOptions {
  PolicySource policies = {};
  // As `sluice serve --store`: redis://host:port, unix:///path, redis+sentinel://…, redis+cluster://…, and
  // rediss… for TLS.
  std::string url = {};
  std::string key_prefix = {};  // empty: the server's default
  std::string key_secret = {};  // empty: the server's default
  std::string default_tenant = {};
  int nodes = 1;  // how many processes share the limits, for `on_failure: local`
  // How long open_redis() waits for the first connection. Without one there is a limiter all the same.
  std::chrono::milliseconds connect_timeout{1000};
  // Receives a sentence when Redis has become unreachable, and when it is back. Called on a thread of the
  // library; must not block or throw. Empty: nobody is told.
  std::function<void(bool is_problem, const std::string& sentence)> log = {};
};
SLUICE_EXPORT Opened open_redis(const RedisOptions& options);

// What happens to a check that cannot be decided because no server answers.
enum class WhenUnreachable : unsigned char { kAllow, kDeny };

// A Sluice server, by gRPC. A key that is used often is leased: the library asks for units ahead and spends
// them here, without a network. While the server answers, no more is spent than it has granted; without it
// also the safe capacity of the latest lease, and then `when_unreachable` decides (docs/accuracy.md).
struct RemoteOptions {
  std::string url = {};    // http://host:port or https://host:port
  std::string token = {};  // for servers with --require-token
  std::chrono::milliseconds timeout{1000};
  WhenUnreachable when_unreachable = WhenUnreachable::kAllow;
  bool leases = true;          // false: every check asks the server
  bool return_unused = false;  // close() returns leased units that were not spent
  std::string ca_file = {};    // for https; empty: the system's. It is read when the limiter is opened, too
  // Receives a sentence when checks are no longer decided by the server, because it is gone or refuses us,
  // and when they are again. With kAllow everything passes in between, so listen. At most one about a problem
  // in ten seconds. Called on a thread of the library; must not block or throw. Empty: nobody is told.
  std::function<void(bool is_problem, const std::string& sentence)> log = {};
};
SLUICE_EXPORT Opened open_server(const RemoteOptions& options);

}  // namespace sluice

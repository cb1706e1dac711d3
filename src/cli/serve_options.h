#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/control_limits.h"

namespace CLI {
class App;
}

namespace sluice::cli {

// Everything `sluice serve` can be told. A flag wins over the environment (SLUICE_LISTEN for --listen), the
// environment over the file of --config, the file over the defaults below.
struct ServeOptions {
  std::string listen = "127.0.0.1:8080";
  std::string admin_listen;              // empty: the admin API is on `listen`, too
  std::string resp_listen;               // empty: no Redis protocol
  std::string policies;                  // file or directory
  std::string mr_policies;               // file in the `domains` schema; environment: RATE_LIMIT_CONFIG
  std::string tls_cert, tls_key;         // files; with them, TLS on every port
  std::string tls_client_ca;             // file: whose certificates of clients count
  bool tls_require_client_cert = false;  // else a token does as well
  bool allow_plaintext = false;          // beyond loopback
  bool allow_deny_everyone = false;      // policy files may do that
  std::string identities;                // file: names in certificates of clients, and their roles
  std::string policy_db = "sqlite:./sluice.db";
  std::string state_dir = "./sluice.state";  // for a start without policy files or database; empty: none
  std::string before_policies = "open";      // what checks get before any policies are known
  std::int64_t audit_days = kAuditDays;      // how long the audit log remembers; 0: for ever
  bool require_token = false;
  bool metrics_open = false;
  std::int64_t max_checks_per_second = 0;  // 0: no bound
  std::int64_t admin_reads_per_minute = 1000;
  std::int64_t admin_writes_per_minute = 100;
  std::int64_t policies_per_tenant = kPoliciesPerTenant;
  std::string staged_rollouts;              // stages of every change of a policy; empty: at once
  std::string switch_file;                  // while it exists, the big red switch is open
  std::string store;                        // empty: as the REDIS_ variables say, else memory
  std::int64_t degraded_latency_ms = 2000;  // of the store's fastest answer
  std::string cells;                        // file with further stores and who is placed on them
  std::string key_prefix = "rl:";
  std::string key_secret;
  std::string key_secrets;  // file; the names of keys are HMACs then
  int nodes = 1;
  std::uint64_t memory_mib = 1024;
  std::uint64_t buffer_mib = 128;
  int threads = 0;  // 0: one per core
  std::string headers = "ietf,x-epoch";
  std::string envoy_headers = "ietf";
  std::string envoy_refunds = "operator";
  std::string default_tenant;  // of checks that have none
  int deny_status = 429;
  std::string trusted_proxies = "127.0.0.0/8,::1/128";
  bool trust_idempotency_key = false;
  std::string deprecate;  // paths of the API, with dates
  std::string deprecation_link = "/openapi.yaml";
  std::uint64_t drain_notice_ms = 500;
  std::uint64_t drain_seconds = 10;
  std::string log_level = "info";
  std::string config;

  friend bool operator==(const ServeOptions&, const ServeOptions&) = default;
};

// Declares the flags and their environment variables.
void add_serve_options(CLI::App& command, ServeOptions& options);

// The settings that these arguments of `sluice serve`, the environment and the file of --config give
// together. Called again on SIGHUP. Throws CommandError that says what to do; for the file it names line and
// key.
ServeOptions read_serve_options(const std::vector<std::string>& arguments);

}  // namespace sluice::cli

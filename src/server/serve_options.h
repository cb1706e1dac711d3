#pragma once

#include <cstdint>
#include <string>

#include "base/limits/control_limits.h"
#include "base/limits/decision_limits.h"
#include "base/limits/hot_key_limits.h"
#include "base/limits/usage_limits.h"
#include "store/redis/key_prefix.h"

namespace sluice::server {

// All options of `sluice serve`. A flag wins over the environment (SLUICE_LISTEN for --listen), the
// environment over the file of --config, the file over the defaults below.
struct ServeOptions {
  std::string listen = "127.0.0.1:8080";
  std::string admin_listen;              // empty: the admin API is on `listen`
  std::string resp_listen;               // empty: no Redis protocol
  std::string policies;                  // file or directory
  std::string multi_rate_policies;       // file in the `domains` schema; also RATE_LIMIT_CONFIG
  std::string tls_cert, tls_key;         // files; with them, TLS on every port
  std::string tls_client_ca;             // file: CAs of client certificates
  bool tls_require_client_cert = false;  // if false, a token is enough
  bool allow_plaintext = false;          // beyond loopback
  bool allow_deny_everyone = false;      // policy files may deny every request
  std::string identities;                // file: names in client certificates, and their roles
  std::string policy_db = "sqlite:./sluice.db";
  std::string state_dir = "./sluice.state";  // for a start without policy files or database; empty: none
  std::string before_policies = "open";      // the answer to checks before any policies are known
  std::int64_t audit_days = kAuditDays;      // how long audit records are kept; 0: for ever
  bool require_token = false;
  std::string bootstrap_token_file;  // where the first token is, or goes; empty: standard output
  bool metrics_open = false;
  std::int64_t max_checks_per_second = 0;  // 0: no bound
  std::int64_t admin_reads_per_minute = 1000;
  std::int64_t admin_writes_per_minute = 100;
  std::int64_t policies_per_tenant = kPoliciesPerTenant;
  std::string staged_rollouts;              // stages of every policy change; empty: none
  std::string switch_file;                  // while it exists, the big red switch is open
  std::string store;                        // empty: by the REDIS_ variables, else memory
  std::int64_t degraded_latency_ms = 2000;  // of the store's fastest answer
  std::string cells;                        // file with further stores and their tenants
  std::string key_prefix = kDefaultKeyPrefix;
  std::string key_secret;
  std::string key_secrets;  // file; then key names are HMACs
  int nodes = 1;
  std::uint64_t memory_mib = 1024;
  std::uint64_t buffer_mib = 128;
  std::uint64_t decisions_mib = kDecisionsMiB;           // 0: no record of decisions
  std::uint32_t decision_sample = kDecisionSampleOneIn;  // one in so many allowed ones; 0: none
  std::int64_t hot_key_rate = kHotKeyRate;               // 0: no key is promoted
  bool node_leases = false;  // this node leases units of promoted keys from Redis for itself
  int threads = 0;           // 0: one per core
  std::string headers = "ietf,x-epoch";
  std::string envoy_headers = "ietf";
  std::string envoy_refunds = "operator";
  std::string default_tenant;  // for checks without a tenant
  int deny_status = 429;
  std::string trusted_proxies = "127.0.0.0/8,::1/128";
  bool trust_idempotency_key = false;
  std::string deprecate;  // paths of the API, with dates
  std::string deprecation_link = "/openapi.yaml";
  std::uint64_t drain_notice_ms = 500;
  std::uint64_t drain_seconds = 10;
  std::string usage_events;  // URL of Kafka or Redis; empty: none are sent
  int usage_queue_mib = kUsageQueueMiB;
  std::string log_level = "info";
  std::string log_format = "console";
  std::string otlp;                 // URL of a collector of traces; empty: by OTEL_EXPORTER_OTLP_ENDPOINT
  double trace_sample = 0.01;       // of requests without a trace
  std::string trace_slow = "20ms";  // a check that takes longer always has a span
  std::string config;

  friend bool operator==(const ServeOptions&, const ServeOptions&) = default;
};

}  // namespace sluice::server

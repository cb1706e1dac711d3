#include "cli/serve/serve_flags.h"

#include <fmt/format.h>
#include <yaml-cpp/yaml.h>

#include <CLI/CLI.hpp>
#include <cctype>
#include <cstdlib>
#include <string_view>

#include "base/limits.h"
#include "base/limits/connection_limits.h"
#include "cli/command.h"
#include "cli/serve/brief_help.h"
#include "cli/usage_error.h"
#include "document/literals.h"
#include "redis/url/store_url.h"
#include "usage/target/usage_target.h"

namespace sluice::cli {
namespace {

// `names`: of the flag, without the leading dashes; the first of them counts.
std::string environment_name(std::string_view names) {
  std::string flag(names.substr(0, names.find(',')));
  for (char& c : flag) c = c == '-' ? '_' : static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
  return "SLUICE_" + flag;
}

// Braces would put every key into one slot of a Cluster.
const CLI::Validator valid_prefix(
    [](std::string& prefix) -> std::string {
      if (prefix.size() <= kKeyPrefixBytesMax && prefix.find_first_of("{}") == std::string::npos) return {};
      return fmt::format("a prefix has at most {} bytes and no braces", kKeyPrefixBytesMax);
    },
    "TEXT");

const CLI::Validator valid_tenant(
    [](std::string& tenant) -> std::string {
      if (tenant.empty()) return {};
      const auto good = parse_free_text(tenant, kKeyBytesMax);
      return good ? "" : good.error();
    },
    "NAME");

const CLI::Validator valid_usage_target(
    [](std::string& url) -> std::string {
      if (url.empty()) return {};
      const auto target = usage::parse_usage_target(url);
      return target ? "" : target.error().message;
    },
    "URL");

const CLI::Validator valid_duration(
    [](std::string& text) -> std::string {
      const auto good = parse_duration_us(text);
      return good ? "" : good.error();
    },
    "TIME");

const CLI::Validator valid_store(
    [](std::string& url) -> std::string {
      if (url.empty() || url == "memory") return {};
      const auto target = redis::parse_store_url(url);
      return target ? "" : target.error().message;
    },
    "URL");

void apply_entry(CLI::App& command, const std::string& file, const YAML::Node& key, const YAML::Node& value) {
  const std::string where = fmt::format("{}:{}", file, key.Mark().line + 1);
  if (!key.IsScalar()) throw CommandError(fmt::format("{}: write one `setting: value` per line", where));
  const std::string name = key.as<std::string>();
  CLI::Option* option =
      name == "config" || name == "help" ? nullptr : command.get_option_no_throw("--" + name);
  if (!option)
    throw CommandError(
        fmt::format("{}: unknown setting \"{}\"; `sluice serve --help` lists them", where, name));
  if (!value.IsScalar()) throw CommandError(fmt::format("{}: {} must be a single value", where, name));
  if (option->count() > 0) return;  // a flag or the environment has set it
  try {
    option->add_result(value.as<std::string>());
    option->run_callback();
  } catch (const CLI::ParseError& e) {
    throw CommandError(fmt::format("{}: {}", where, plain_usage_error(e.what())));
  }
}

void apply_config_file(CLI::App& command, const ServeOptions& options) {
  if (options.config.empty()) return;
  YAML::Node root;
  try {
    root = YAML::LoadFile(options.config);
  } catch (const YAML::Exception& e) {
    throw CommandError(fmt::format("{}:{}: {}", options.config, e.mark.line + 1, e.msg));
  }
  if (root.IsNull()) return;
  if (!root.IsMap())
    throw CommandError(fmt::format("{}: write one `setting: value` per line", options.config));
  for (const auto& entry : root) apply_entry(command, options.config, entry.first, entry.second);
}

// Existing deployments of the multi-rate services set RATE_LIMIT_CONFIG. It ranks with the environment: below
// flags, above the file of --config.
void apply_rate_limit_config(CLI::App& command) {
  const char* const path = std::getenv("RATE_LIMIT_CONFIG");
  if (!path || !*path) return;
  CLI::Option* const option = command.get_option("--multi-rate-policies");
  const char* const own = std::getenv(option->get_envname().c_str());
  if (own && *own && std::string_view(own) != path)
    throw CommandError(fmt::format("{} and RATE_LIMIT_CONFIG name different files; set only one of them",
                                   option->get_envname()));
  if (option->count() > 0) return;
  option->add_result(path);
  option->run_callback();
}

// Options that --help leaves to --help-all.
constexpr const char* kRareSettings[] = {"--tls-require-client-cert",
                                         "--identities",
                                         "--allow-plaintext",
                                         "--allow-deny-everyone",
                                         "--admin-reads-per-minute",
                                         "--admin-writes-per-minute",
                                         "--policies-per-tenant",
                                         "--staged-rollouts",
                                         "--switch-file",
                                         "--state-dir",
                                         "--before-policies",
                                         "--audit-days",
                                         "--multi-rate-policies",
                                         "--cells",
                                         "--degraded-latency-ms",
                                         "--key-secret",
                                         "--key-secrets",
                                         "--memory-mib",
                                         "--bootstrap-token-file",
                                         "--metrics-open",
                                         "--buffer-mib",
                                         "--decisions-mib",
                                         "--decision-sample",
                                         "--hot-key-rate",
                                         "--node-leases",
                                         "--headers",
                                         "--envoy-headers",
                                         "--envoy-refunds",
                                         "--default-tenant",
                                         "--deny-status",
                                         "--trusted-proxies",
                                         "--trust-idempotency-key",
                                         "--deprecate",
                                         "--deprecation-link",
                                         "--drain-notice-ms",
                                         "--drain-seconds",
                                         "--usage-queue-mib",
                                         "--log-level",
                                         "--log-format",
                                         "--otlp",
                                         "--trace-sample",
                                         "--trace-slow"};

}  // namespace

void add_serve_options(CLI::App& command, ServeOptions& o) {
  const auto add = [&command](const std::string& name, auto& value, const std::string& help) {
    return command.add_option("--" + name, value, help)
        ->envname(environment_name(name))
        ->capture_default_str();
  };
  const auto add_flag = [&command](const std::string& name, bool& value, const std::string& help) {
    command.add_flag("--" + name, value, help)->envname(environment_name(name));
  };
  add("listen", o.listen, "HOST:PORT for gRPC, HTTP/1.1 and HTTP/2; port 0 picks a free one");
  add("admin-listen", o.admin_listen,
      "HOST:PORT of a separate port for the admin API; --listen then serves none");
  add("resp-listen", o.resp_listen, "HOST:PORT for the Redis protocol (CL.THROTTLE); off unless given");
  add("tls-cert", o.tls_cert, "PEM file with the certificate: TLS on every port; reloaded when it changes");
  add("tls-key", o.tls_key, "PEM file with its key");
  add("tls-client-ca", o.tls_client_ca, "PEM file with the CAs of client certificates");
  add_flag("tls-require-client-cert", o.tls_require_client_cert, "require a client certificate");
  add("identities", o.identities,
      "YAML file that maps names in client certificates to roles; reread on SIGHUP");
  add_flag("allow-deny-everyone", o.allow_deny_everyone,
           "policy files may deny every request from every caller");
  add_flag("allow-plaintext", o.allow_plaintext, "listen beyond loopback without TLS");
  add("policies", o.policies, "policy file or directory (YAML or JSON); reloaded when it changes");
  add("policy-db", o.policy_db,
      "where the API keeps policies: sqlite:FILE (created at the first write), postgres://…, redis://… or\n"
      "another URL as for --store, or redis: the Redis of --store");
  add("state-dir", o.state_dir,
      "folder for copies of the last good policies, used at a start when the files are invalid or the\n"
      "database is unreachable; empty: no copies");
  add("before-policies", o.before_policies,
      "open or closed: the answer to checks before any policies are known")
      ->check(CLI::IsMember({"open", "closed"}));
  add("audit-days", o.audit_days,
      "minimum days to keep audit entries; policy versions are kept forever; 0: keep everything")
      ->check(CLI::Range(std::int64_t{0}, kAuditDaysMax));
  add_flag("require-token", o.require_token, "checks and admin calls need a token, on loopback too");
  add("bootstrap-token-file", o.bootstrap_token_file,
      "file with the first token, or for it if there is none: instead of printing it")
      ->type_name("FILE");
  add_flag("metrics-open", o.metrics_open,
           "/metrics names policies to everybody, not only on loopback or with a token");
  add("max-checks-per-second", o.max_checks_per_second,
      "limit of this node; checks above it get 503; 0: no limit")
      ->check(CLI::Range(std::int64_t{0}, kRateMax));
  add("admin-reads-per-minute", o.admin_reads_per_minute, "admin API reads per admin")
      ->check(CLI::Range(std::int64_t{1}, kSlidingLogMax));
  add("admin-writes-per-minute", o.admin_writes_per_minute, "admin API changes per admin")
      ->check(CLI::Range(std::int64_t{1}, kSlidingLogMax));
  add("policies-per-tenant", o.policies_per_tenant, "policies that the API accepts; files may have more")
      ->check(CLI::Range(std::int64_t{1}, static_cast<std::int64_t>(kPoliciesMax)));
  add("staged-rollouts", o.staged_rollouts,
      "stages of every policy change over the API, for example 1%:10m,10%:1h,100%:1h, or default;\n"
      "empty: changes are in force at once");
  add("switch-file", o.switch_file, "while this file exists every check is allowed, for an hour at most");
  add("multi-rate-policies,--mr-policies", o.multi_rate_policies,
      "JSON file in the `domains` schema; RATE_LIMIT_CONFIG in the environment names it too");
  add("store", o.store,
      "where counters live: memory, redis://…, rediss://…, redis+sentinel://h:p,h:p/master,\n"
      "redis+cluster://h:p,h:p or unix:///path; reread on SIGHUP")
      ->default_str("memory")
      ->check(valid_store);
  add("cells", o.cells, "YAML file with further stores, and the tenants and tiers on each; reread on SIGHUP");
  add("degraded-latency-ms", o.degraded_latency_ms,
      "/readyz and the health service call the store degraded when even its fastest answer takes this long")
      ->check(CLI::Range(1, 600'000));
  add("key-prefix", o.key_prefix, "prefix of every key in Redis")->check(valid_prefix);
  add("key-secret", o.key_secret, "secret for the names of keys; nodes that share a store need the same one");
  add("key-secrets", o.key_secrets,
      "YAML file with versions of the secret; key names are then HMACs, which do not\n"
      "reveal addresses or users; reread on SIGHUP");
  add("nodes", o.nodes, "how many nodes share the load, for `on_failure: local`")
      ->check(CLI::Range(1, kNodesMax));
  add("memory-mib", o.memory_mib, "memory for counters, in MiB")->check(CLI::Range(1, 1 << 20));
  add("buffer-mib", o.buffer_mib, "memory for requests in flight, unread answers and TLS, in MiB")
      ->check(CLI::Range(kBufferMiBMin, kBufferMiBMax));
  add("decisions-mib", o.decisions_mib,
      "memory for recent decisions, for `sluice why`, in MiB; 0: none are kept")
      ->check(CLI::Range(std::uint64_t{0}, kDecisionsMiBMax));
  add("decision-sample", o.decision_sample,
      "of the checks that are allowed as usual, keep one in so many; 0: none")
      ->check(CLI::Range(0, 1'000'000));
  add("hot-key-rate", o.hot_key_rate,
      "checks a second from which callers of a key are advised to lease; 0: never")
      ->check(CLI::Range(std::int64_t{0}, kRateMax));
  add_flag("node-leases", o.node_leases,
           "with Redis: lease units of such keys, take some along for other frequent ones, and admit checks\n"
           "on this node while they last");
  add("threads", o.threads, "event loops; 0: one per core")->check(CLI::Range(0, 1024));
  add("headers", o.headers,
      "rate limit headers to send: ietf, triple, x-epoch, x-delta, comma-separated, or none");
  add("envoy-headers", o.envoy_headers, "the same for answers to Envoy");
  add("envoy-refunds", o.envoy_refunds,
      "who may give hits back through Envoy's API: operator (who may reset counters), check (who may\n"
      "charge them) or none")
      ->check(CLI::IsMember({"operator", "check", "none"}));
  add("default-tenant", o.default_tenant, "the tenant of checks that name none")->check(valid_tenant);
  add("deny-status", o.deny_status, "status of /v1/authorize for a denial")->check(CLI::Range(400, 599));
  add("trusted-proxies", o.trusted_proxies, "networks whose X-Forwarded-* headers are trusted");
  add_flag("trust-idempotency-key", o.trust_idempotency_key,
           "X-Idempotency-Key at /v1/authorize is the request_id; only if the proxy\nsets or clears it; "
           "otherwise clients can evade their limits by repeating a key");
  add("deprecate", o.deprecate,
      "paths to mark as deprecated in their answers, comma-separated:\n"
      "PATH[=SINCE[..SUNSET]], for example /v1/rules=2026-11-01..2027-05-01");
  add("deprecation-link", o.deprecation_link, "link for callers of deprecated paths: a URL or a path");
  add("drain-notice-ms", o.drain_notice_ms,
      "how long to report \"not ready\" on shutdown before refusing connections")
      ->check(CLI::Range(0, 600'000));
  add("drain-seconds", o.drain_seconds, "how long a stop waits for requests in flight")
      ->check(CLI::Range(0, 3600));
  add("usage-events", o.usage_events,
      "where to send an event for each decision: kafka://HOST:PORT/TOPIC, kafkas://… or\n"
      "redis://HOST:PORT?stream=NAME, or another URL as for --store; off unless given")
      ->check(valid_usage_target);
  add("usage-queue-mib", o.usage_queue_mib, "memory for usage events while their server takes none, in MiB")
      ->check(CLI::Range(1, kUsageQueueMiBMax));
  add("log-level", o.log_level, "debug, info, warning or error")
      ->check(CLI::IsMember({"debug", "info", "warning", "error"}));
  add("log-format", o.log_format, "console or json: one line per event, on stderr")
      ->check(CLI::IsMember({"console", "json"}));
  add("otlp", o.otlp,
      "http://HOST:PORT or https://HOST:PORT of an OpenTelemetry collector for traces;\n"
      "OTEL_EXPORTER_OTLP_ENDPOINT in the environment names it too");
  add("trace-sample", o.trace_sample, "share of the requests without a trace that begin one, 0 to 1")
      ->check(CLI::Range(0.0, 1.0));
  add("trace-slow", o.trace_slow, "checks that take longer always have a span")->check(valid_duration);
  add("config", o.config, "YAML file with any of these settings; reread on SIGHUP")->check(CLI::ExistingFile);
  for (const char* rare : kRareSettings) command.get_option(rare)->group(kMoreSettings);
  make_help_brief(command);
}

ServeOptions read_serve_options(const std::vector<std::string>& arguments) {
  ServeOptions options;
  CLI::App command;
  add_serve_options(command, options);
  try {
    command.parse(
        std::vector<std::string>(arguments.rbegin(), arguments.rend()));  // CLI11 expects them reversed
  } catch (const CLI::ParseError& e) {
    throw CommandError(plain_usage_error(e.what()));
  }
  apply_rate_limit_config(command);
  apply_config_file(command, options);
  return options;
}

}  // namespace sluice::cli

#include "cli/serve/serve_flags.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <CLI/CLI.hpp>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <set>

#include "cli/command.h"

namespace sluice::cli {
namespace {

class ServeOptionsTest : public ::testing::Test {
 protected:
  void TearDown() override {
    unsetenv("SLUICE_LISTEN");
    std::filesystem::remove(file_);
  }
  std::string config(const std::string& text) {
    std::ofstream(file_) << text;
    return file_;
  }
  const std::string file_ = ::testing::TempDir() + "serve_options_test.yaml";
};

TEST_F(ServeOptionsTest, FlagBeatsEnvironmentBeatsFileBeatsDefault) {
  const std::string file = config("listen: 127.0.0.1:1\n");
  EXPECT_EQ(read_serve_options({}).listen, "127.0.0.1:8080");
  EXPECT_EQ(read_serve_options({"--config", file}).listen, "127.0.0.1:1");
  setenv("SLUICE_LISTEN", "127.0.0.1:2", 1);
  EXPECT_EQ(read_serve_options({"--config", file}).listen, "127.0.0.1:2");
  EXPECT_EQ(read_serve_options({"--config", file, "--listen", "127.0.0.1:3"}).listen, "127.0.0.1:3");
}

// Sets a variable of the environment for as long as it exists.
class Variable {
 public:
  Variable(std::string name, const std::string& value) : name_(std::move(name)) {
    setenv(name_.c_str(), value.c_str(), 1);
  }
  ~Variable() { unsetenv(name_.c_str()); }
  Variable(const Variable&) = delete;
  Variable& operator=(const Variable&) = delete;

 private:
  const std::string name_;
};

TEST_F(ServeOptionsTest, EveryFlagIsAlsoAVariable) {
  struct Row {
    std::string flag, variable, value;
  };
  const Row rows[] = {
      {"listen", "SLUICE_LISTEN", "127.0.0.1:1"},
      {"admin-listen", "SLUICE_ADMIN_LISTEN", "127.0.0.1:2"},
      {"resp-listen", "SLUICE_RESP_LISTEN", "127.0.0.1:3"},
      {"tls-cert", "SLUICE_TLS_CERT", "cert.pem"},
      {"tls-key", "SLUICE_TLS_KEY", "key.pem"},
      {"tls-client-ca", "SLUICE_TLS_CLIENT_CA", "ca.pem"},
      {"tls-require-client-cert", "SLUICE_TLS_REQUIRE_CLIENT_CERT", "true"},
      {"identities", "SLUICE_IDENTITIES", "identities.yaml"},
      {"allow-deny-everyone", "SLUICE_ALLOW_DENY_EVERYONE", "true"},
      {"allow-plaintext", "SLUICE_ALLOW_PLAINTEXT", "true"},
      {"policies", "SLUICE_POLICIES", "policies.yaml"},
      {"policy-db", "SLUICE_POLICY_DB", "sqlite:other.db"},
      {"state-dir", "SLUICE_STATE_DIR", "state"},
      {"decisions-mib", "SLUICE_DECISIONS_MIB", "7"},
      {"decision-sample", "SLUICE_DECISION_SAMPLE", "7"},
      {"hot-key-rate", "SLUICE_HOT_KEY_RATE", "50"},
      {"node-leases", "SLUICE_NODE_LEASES", "true"},
      {"before-policies", "SLUICE_BEFORE_POLICIES", "closed"},
      {"audit-days", "SLUICE_AUDIT_DAYS", "3"},
      {"require-token", "SLUICE_REQUIRE_TOKEN", "true"},
      {"bootstrap-token-file", "SLUICE_BOOTSTRAP_TOKEN_FILE", "first.token"},
      {"metrics-open", "SLUICE_METRICS_OPEN", "true"},
      {"max-checks-per-second", "SLUICE_MAX_CHECKS_PER_SECOND", "7"},
      {"admin-reads-per-minute", "SLUICE_ADMIN_READS_PER_MINUTE", "7"},
      {"admin-writes-per-minute", "SLUICE_ADMIN_WRITES_PER_MINUTE", "7"},
      {"policies-per-tenant", "SLUICE_POLICIES_PER_TENANT", "7"},
      {"staged-rollouts", "SLUICE_STAGED_ROLLOUTS", "default"},
      {"switch-file", "SLUICE_SWITCH_FILE", "open"},
      {"multi-rate-policies", "SLUICE_MULTI_RATE_POLICIES", "domains.json"},
      {"multi-rate-policies", "RATE_LIMIT_CONFIG", "domains.json"},
      {"store", "SLUICE_STORE", "redis://other"},
      {"cells", "SLUICE_CELLS", "cells.yaml"},
      {"degraded-latency-ms", "SLUICE_DEGRADED_LATENCY_MS", "7"},
      {"key-prefix", "SLUICE_KEY_PREFIX", "other:"},
      {"key-secret", "SLUICE_KEY_SECRET", "secret"},
      {"key-secrets", "SLUICE_KEY_SECRETS", "secrets.yaml"},
      {"nodes", "SLUICE_NODES", "7"},
      {"memory-mib", "SLUICE_MEMORY_MIB", "7"},
      {"buffer-mib", "SLUICE_BUFFER_MIB", "77"},
      {"threads", "SLUICE_THREADS", "7"},
      {"headers", "SLUICE_HEADERS", "none"},
      {"envoy-headers", "SLUICE_ENVOY_HEADERS", "none"},
      {"envoy-refunds", "SLUICE_ENVOY_REFUNDS", "none"},
      {"default-tenant", "SLUICE_DEFAULT_TENANT", "acme"},
      {"deny-status", "SLUICE_DENY_STATUS", "403"},
      {"trusted-proxies", "SLUICE_TRUSTED_PROXIES", "10.0.0.0/8"},
      {"trust-idempotency-key", "SLUICE_TRUST_IDEMPOTENCY_KEY", "true"},
      {"deprecate", "SLUICE_DEPRECATE", "/v1/rules"},
      {"deprecation-link", "SLUICE_DEPRECATION_LINK", "/more"},
      {"drain-notice-ms", "SLUICE_DRAIN_NOTICE_MS", "7"},
      {"drain-seconds", "SLUICE_DRAIN_SECONDS", "7"},
      {"log-level", "SLUICE_LOG_LEVEL", "debug"},
      {"log-format", "SLUICE_LOG_FORMAT", "json"},
      {"otlp", "SLUICE_OTLP", "http://collector:4318"},
      {"trace-sample", "SLUICE_TRACE_SAMPLE", "0.5"},
      {"trace-slow", "SLUICE_TRACE_SLOW", "1s"},
      {"usage-events", "SLUICE_USAGE_EVENTS", "redis://127.0.0.1:1?stream=usage.events"},
      {"usage-queue-mib", "SLUICE_USAGE_QUEUE_MIB", "64"},
      {"config", "SLUICE_CONFIG", config("threads: 7\n")},
  };
  std::set<std::string> tried{"help", "help-all"};
  for (const Row& row : rows) {
    SCOPED_TRACE(row.variable);
    tried.insert(row.flag);
    const ServeOptions by_flag = read_serve_options({"--" + row.flag + "=" + row.value});
    EXPECT_FALSE(by_flag == ServeOptions()) << "this row tries the default";
    const Variable variable(row.variable, row.value);
    EXPECT_TRUE(read_serve_options({}) == by_flag);
  }
  ServeOptions options;
  CLI::App command;
  add_serve_options(command, options);
  for (const CLI::Option* option : command.get_options())
    EXPECT_TRUE(tried.contains(option->get_lnames().front())) << option->get_name() << " has no row";
}

TEST_F(ServeOptionsTest, RateLimitConfigRanksWithTheEnvironment) {
  const Variable variable("RATE_LIMIT_CONFIG", "of-the-environment.json");
  const std::string file = config("multi-rate-policies: of-the-file.json\n");
  EXPECT_EQ(read_serve_options({"--config", file}).multi_rate_policies, "of-the-environment.json");
  EXPECT_EQ(read_serve_options({"--mr-policies", "of-the-flag.json"}).multi_rate_policies,
            "of-the-flag.json");
}

TEST_F(ServeOptionsTest, TwoVariablesForOneSettingMustAgree) {
  const Variable variable("RATE_LIMIT_CONFIG", "one.json");
  {
    const Variable same("SLUICE_MULTI_RATE_POLICIES", "one.json");
    EXPECT_EQ(read_serve_options({}).multi_rate_policies, "one.json");
  }
  const Variable other("SLUICE_MULTI_RATE_POLICIES", "other.json");
  try {
    read_serve_options({});
    ADD_FAILURE() << "accepted";
  } catch (const CommandError& e) {
    EXPECT_STREQ(e.what(),
                 "SLUICE_MULTI_RATE_POLICIES and RATE_LIMIT_CONFIG name different files; set only one of "
                 "them");
  }
}

TEST_F(ServeOptionsTest, WhatIsWrongInTheFileIsNamedWithItsLine) {
  struct Row {
    std::string text;
    std::string expected;
  };
  for (const Row& row : {Row{"threads: 1\nlisen: x\n", ":2: unknown setting \"lisen\""},
                         {"threads: many\n", ":1: "},
                         {"threads: [1]\n", ":1: threads must be a single value"},
                         {"store: floppy\n", ":1: --store: the store URL has no scheme"},
                         {"- a\n", "setting: value"},
                         {"? [a]\n: b\n", ":1: write one `setting: value` per line"},
                         {"a: [\n", ":2: "}}) {
    try {
      read_serve_options({"--config", config(row.text)});
      ADD_FAILURE() << "accepted: " << row.text;
    } catch (const CommandError& e) {
      EXPECT_THAT(e.what(), ::testing::HasSubstr(row.expected));
    }
  }
}

TEST_F(ServeOptionsTest, WrongFlagsAreRefused) {
  EXPECT_THROW(read_serve_options({"--nonsense"}), CommandError);
  EXPECT_THROW(read_serve_options({"--threads", "-1"}), CommandError);
  EXPECT_THROW(read_serve_options({"--deny-status", "200"}), CommandError);
}

}  // namespace
}  // namespace sluice::cli

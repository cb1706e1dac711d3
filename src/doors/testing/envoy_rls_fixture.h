#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "doors/testing/doors_fixture.h"
#include "doors/testing/envoy_fixture.h"
#include "policy/files/policy_files.h"
#include "policy/snapshot/catalog.h"

namespace sluice::doors::testing {

inline constexpr const char* kShouldRateLimit =
    "/envoy.service.ratelimit.v3.RateLimitService/ShouldRateLimit";

// "OK 49 of 50/1 reset 1": code, remaining, limit and unit, seconds, as far as present.
inline std::string shown_status(net::WireReader reader) {
  constexpr const char* kCodes[] = {"UNKNOWN", "OK", "OVER"};
  std::string code = "UNKNOWN", limit, reset;
  std::uint32_t remaining = 0;
  while (reader.next()) {
    if (reader.field() == 1) code = kCodes[reader.uint64()];
    if (reader.field() == 3) remaining = reader.uint32();
    if (reader.field() == 2) {
      net::WireReader inner = reader.message();
      std::string requests = "0", unit = "0", name;
      while (inner.next()) {
        if (inner.field() == 1) requests = std::to_string(inner.uint32());
        if (inner.field() == 2) unit = std::to_string(inner.uint32());
        if (inner.field() == 3) name = " \"" + std::string(inner.string()) + '"';
      }
      limit = " of " + requests + '/' + unit + name;
    }
    if (reader.field() == 4) {
      net::WireReader inner = reader.message();
      while (inner.next()) reset = " reset " + std::to_string(inner.uint64());
    }
  }
  return code + ' ' + std::to_string(remaining) + limit + reset;
}

// A decoded RateLimitResponse.
struct Told {
  std::uint64_t overall = 0;
  std::vector<std::string> statuses;
  std::vector<std::string> headers;  // "name: value"
  std::string body;
  std::string metadata;  // the bytes of the Struct
};

inline Told read_answer(std::string_view message) {
  Told told;
  net::WireReader reader(message);
  while (reader.next()) {
    if (reader.field() == 1) told.overall = reader.uint64();
    if (reader.field() == 2) told.statuses.push_back(shown_status(reader.message()));
    if (reader.field() == 3) {
      net::WireReader inner = reader.message();
      std::string header;
      while (inner.next()) header += (header.empty() ? "" : ": ") + std::string(inner.string());
      told.headers.push_back(header);
    }
    if (reader.field() == 5) told.body = reader.bytes();
    if (reader.field() == 6) told.metadata = reader.bytes();
  }
  EXPECT_TRUE(reader.ok());
  return told;
}

// The doors over policy files of either kind.
class EnvoyRlsFixture : public DoorsFixture {
 protected:
  void load(const std::vector<std::string>& texts) {
    std::vector<PolicyFile> files;
    for (const std::string& text : texts) files.push_back({std::to_string(files.size()) + ".yaml", text});
    Problems problems;
    PolicySources sources = parse_policy_files(files, problems);
    for (const std::string& problem : problems.texts()) ADD_FAILURE() << problem;
    std::vector<Policy> policies;
    for (WrittenPolicy& each : sources.policies) policies.push_back(std::move(each.policy));
    const auto taken = catalog.replace_files(std::move(policies), std::move(sources.envoy_domains));
    ASSERT_TRUE(taken) << taken.error().message;
  }
  void SetUp() override {}

  GrpcAnswer send_bytes(std::string_view bytes) {
    EXPECT_EQ(app.method_kind(kShouldRateLimit, peer), net::Application::MethodKind::kUnary);
    const net::HeaderList no_metadata;
    return send_to(app, {.path = kShouldRateLimit, .metadata = &no_metadata, .peer = &peer}, bytes);
  }
  Told ask(const EnvoyMessage& message) {
    const GrpcAnswer answer = send_bytes(message.encoded());
    EXPECT_EQ(answer.status.code, net::GrpcCode::kOk) << answer.status.message;
    return read_answer(answer.message);
  }
  std::vector<std::string> statuses(const EnvoyMessage& message) { return ask(message).statuses; }
  std::string refused(const EnvoyMessage& message) {
    const GrpcAnswer answer = send_bytes(message.encoded());
    EXPECT_EQ(answer.status.code, net::GrpcCode::kInvalidArgument);
    return answer.status.message;
  }

  using Entries = std::vector<std::pair<std::string, std::string>>;
  static EnvoyMessage about(std::string domain, const std::vector<Entries>& descriptors) {
    EnvoyMessage message{.domain = std::move(domain)};
    for (const Entries& entries : descriptors) message.descriptors.push_back({.entries = entries});
    return message;
  }

  PolicyCatalog catalog{snapshots, params};
};

}  // namespace sluice::doors::testing

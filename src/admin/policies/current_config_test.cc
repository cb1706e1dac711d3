#include "admin/policies/current_config.h"

#include <gtest/gtest.h>

#include "doors/testing/wire_fields.h"
#include "policy/testing/policies.h"

namespace sluice::admin {
namespace {

using doors::testing::fields_of;

std::shared_ptr<const Snapshot> snapshot_of(std::string_view document) {
  ParamsTable params;
  return Snapshot::compile(sluice::testing::policies_of(document), params).value();
}

// One entry per line: its fields, without line breaks.
std::string entries_of(std::string_view message) {
  std::string out;
  net::WireReader reader(message);
  while (reader.next()) {
    std::string entry = fields_of(reader.bytes(), {3});
    for (char& c : entry)
      if (c == '\n') c = ' ';
    out += entry + '\n';
  }
  return out;
}

constexpr std::string_view kTwoDomains = R"({"domains": [
  {"domain": "shop", "prefix": "user", "rate": {"capacity": 100, "leak_rate_per_second": 16.67},
   "rates": [{"name": "slow", "flow_rate_per_second": 0.5, "burst_capacity": 1000}]},
  {"domain": "bank", "rate": {"capacity": 5, "leak_rate_per_second": 1}}]})";

TEST(CurrentConfig, TellsEveryRateOfEveryEntry) {
  const auto message = write_current_config(*snapshot_of(kTwoDomains), control::Principal::loopback());
  ASSERT_TRUE(message);
  EXPECT_EQ(entries_of(*message),
            "1: \"bank\" 3: {   1: 1   2: 5   3: \"rate\" } \n"
            "1: \"shop\" 2: \"user\" 3: {   1: 16.67   2: 100   3: \"rate\" } 3: {   1: 0.5   2: 1000   3: "
            "\"slow\" } \n");
}

TEST(CurrentConfig, OthersDomainsAreLeftOut) {
  const control::Principal of_bank{"token bank", {control::Role::kRead}, {"bank"}};
  EXPECT_EQ(entries_of(write_current_config(*snapshot_of(kTwoDomains), of_bank).value()),
            "1: \"bank\" 3: {   1: 1   2: 5   3: \"rate\" } \n");
}

TEST(CurrentConfig, WithoutEntriesItTellsTheBuiltInOne) {
  const auto message = write_current_config(*Snapshot::empty(), control::Principal::loopback());
  EXPECT_EQ(entries_of(message.value()), "1: \"default\" 3: {   1: 10   2: 100   3: \"rate\" } \n");
  const control::Principal of_bank{"token bank", {control::Role::kRead}, {"bank"}};
  EXPECT_EQ(write_current_config(*Snapshot::empty(), of_bank).value(), "");
}

TEST(CurrentConfig, ItIsBounded) {
  std::string document = R"({"domains": [)";
  for (int i = 0; i < 60'000; ++i)
    document += std::string(i ? "," : "") + R"({"domain": "a-domain-with-a-rather-long-name-)" +
                std::to_string(i) + R"(", "rate": {"capacity": 5, "leak_rate_per_second": 1}})";
  const auto message = write_current_config(*snapshot_of(document + "]}"), control::Principal::loopback());
  ASSERT_FALSE(message);
  EXPECT_EQ(message.error().code, ErrorCode::kFailedPrecondition);
}

TEST(CurrentConfig, KnowsItsRequest) {
  EXPECT_TRUE(is_config_request(""));
  EXPECT_TRUE(is_config_request(std::string_view("\x0a\x01x", 3))) << "a field that nobody knows";
  EXPECT_FALSE(is_config_request("\xff"));
}

}  // namespace
}  // namespace sluice::admin

#include "telemetry/node_report.h"

#include <gtest/gtest.h>

#include <random>

#include "base/secret/sealed_file.h"

namespace sluice {
namespace {

NodeReport busy_node() {
  NodeReport report{.id = "7f3a", .name = "web-1:8080", .version = "1.2.3", .admin = "10.0.0.7:9090"};
  report.started_us = 1'700'000'000'000'000;
  report.counted_us = 1'800'000'000'000'000;
  report.ready = report.degraded = true;
  report.problems = {"the store is slow"};
  report.loops = 4;
  report.connected = 3;
  report.checks = {.allowed = 900, .denied = 100, .degraded = 7};
  report.no_policy = 12;
  report.policies = {{"api.read", {.allowed = 800, .denied = 90, .degraded = 7}},
                     {"login", {.allowed = 100}}};
  report.latency.add(60'000);
  report.latency.add(2'000'000'000);
  return report;
}

TEST(NodeReport, IsReadAsItWasWritten) {
  const NodeReport report = busy_node();
  const auto read = node_report_from(to_text(report));
  ASSERT_TRUE(read);
  EXPECT_EQ(read->id, "7f3a");
  EXPECT_EQ(read->name, "web-1:8080");
  EXPECT_EQ(read->version, "1.2.3");
  EXPECT_EQ(read->admin, "10.0.0.7:9090");
  EXPECT_EQ(read->started_us, report.started_us);
  EXPECT_EQ(read->counted_us, report.counted_us);
  EXPECT_TRUE(read->ready);
  EXPECT_FALSE(read->draining);
  EXPECT_TRUE(read->degraded);
  EXPECT_EQ(read->problems, report.problems);
  EXPECT_EQ(read->loops, 4);
  EXPECT_EQ(read->connected, 3);
  EXPECT_EQ(read->checks, report.checks);
  EXPECT_EQ(read->no_policy, 12u);
  EXPECT_EQ(read->policies, report.policies);
  EXPECT_EQ(read->latency.counts, report.latency.counts);
  EXPECT_EQ(read->latency.sum_ns, report.latency.sum_ns);
}

TEST(NodeReport, AFieldOfALaterVersionIsSkipped) {
  std::string text = to_text(busy_node());
  append_field(text, "temperature");
  append_field(text, "in a form that nobody knows yet");
  const auto read = node_report_from(text);
  ASSERT_TRUE(read);
  EXPECT_EQ(read->policies.size(), 2u);
}

TEST(NodeReport, IsBounded) {
  NodeReport report = busy_node();
  report.name = std::string(1000, 'n');
  report.problems.assign(100, std::string(1000, 'p'));
  report.policies.assign(5000, {std::string(100, 'i'), {.allowed = 1}});
  const std::string text = to_text(report);
  EXPECT_LE(text.size(), kNodeReportBytesMax);
  const auto read = node_report_from(text);
  ASSERT_TRUE(read);
  EXPECT_EQ(read->name.size(), kNodeNameBytesMax);
  EXPECT_EQ(read->problems.size(), kNodeProblemsMax);
  EXPECT_GT(read->policies.size(), 30u);
  EXPECT_FALSE(node_report_from(std::string(kNodeReportBytesMax + 1, 'x')));
}

TEST(NodeReport, NoDamageIsMoreThanAnError) {
  const std::string text = to_text(busy_node());
  for (std::size_t size = 0; size < text.size(); ++size) node_report_from(text.substr(0, size));
  const auto seed = std::random_device()();
  SCOPED_TRACE(seed);
  std::mt19937 random(seed);
  for (int i = 0; i < 5000; ++i) {
    std::string damaged = text;
    damaged[random() % damaged.size()] = static_cast<char>(random());
    const auto read = node_report_from(damaged);
    EXPECT_LE(read ? read->policies.size() : 0, kNodePoliciesMax);
  }
  EXPECT_FALSE(node_report_from("x"));
  std::string negative;
  append_field(negative, "loops");
  append_field(negative, "-1");
  EXPECT_FALSE(node_report_from(negative));
}

}  // namespace
}  // namespace sluice

#include "telemetry/prometheus.h"

#include <gtest/gtest.h>

#include <vector>

namespace sluice {
namespace {

TEST(PrometheusText, WritesFamiliesWithHelpTypeAndSamples) {
  PrometheusText text;
  text.family("requests_total", "counter", "Requests.");
  text.sample({{"policy", "a"}, {"limit", "burst"}}, 7);
  text.family("up", "gauge", "Up.");
  text.sample({}, 1);
  EXPECT_EQ(std::move(text).take(),
            "# HELP requests_total Requests.\n"
            "# TYPE requests_total counter\n"
            "requests_total{policy=\"a\",limit=\"burst\"} 7\n"
            "# HELP up Up.\n"
            "# TYPE up gauge\n"
            "up 1\n");
}

TEST(PrometheusText, EscapesLabelValues) {
  PrometheusText text;
  text.family("x", "gauge", "X.");
  text.sample({{"l", "a\"b\\c\nd"}}, 0);
  EXPECT_NE(std::move(text).take().find(R"(l="a\"b\\c\nd")"), std::string::npos);
}

TEST(PrometheusText, AHistogramAddsItsBucketsUp) {
  PrometheusText text;
  text.family("x_seconds", "histogram", "X.");
  text.histogram({{"a", "b"}}, std::vector<std::string_view>{"1", "2"}, std::vector<std::uint64_t>{3, 0, 4},
                 "9.5");
  EXPECT_EQ(std::move(text).take(),
            "# HELP x_seconds X.\n"
            "# TYPE x_seconds histogram\n"
            "x_seconds_bucket{a=\"b\",le=\"1\"} 3\n"
            "x_seconds_bucket{a=\"b\",le=\"2\"} 3\n"
            "x_seconds_bucket{a=\"b\",le=\"+Inf\"} 7\n"
            "x_seconds_sum{a=\"b\"} 9.5\n"
            "x_seconds_count{a=\"b\"} 7\n");
}

TEST(PrometheusText, OpenMetricsNamesFamiliesOfCountersWithoutTotal) {
  PrometheusText text;
  text.family("requests_total", "counter", "Requests.");
  text.sample({}, 7);
  text.family("domains_total", "untyped", "Domains.");
  text.sample({}, 1);
  EXPECT_EQ(PrometheusText::as_open_metrics(std::move(text).take()),
            "# TYPE requests counter\n"
            "# HELP requests Requests.\n"
            "requests_total 7\n"
            "# TYPE domains_total unknown\n"
            "# HELP domains_total Domains.\n"
            "domains_total 1\n"
            "# EOF\n");
}

}  // namespace
}  // namespace sluice

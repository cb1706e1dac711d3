#include "telemetry/prometheus.h"

#include <gtest/gtest.h>

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

}  // namespace
}  // namespace sluice

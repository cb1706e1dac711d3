#include "telemetry/trace/request_tracer.h"

#include <gtest/gtest.h>

#include <set>

#include "base/limits/trace_limits.h"
#include "telemetry/trace/traceparent.h"

namespace sluice {
namespace {

constexpr std::string_view kSampled = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01",
                           kUnsampled = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-00";

class RequestTracerTest : public testing::Test {
 protected:
  int sampled_of(RequestTracer& tracer, int requests, std::string_view header) {
    int sampled = 0;
    for (int i = 0; i < requests; ++i) {
      const TraceContext* const trace = tracer.trace_of(header);
      sampled += trace && trace->is_sampled();
    }
    return sampled;
  }
  ManualClock clock_{1'800'000'000'000'000};
};

TEST_F(RequestTracerTest, TheShareOfRequestsWithoutATraceBeginsOne) {
  constexpr int kRequests = 100'000;
  for (const double share : {0.0, 0.01, 0.5, 1.0}) {
    RequestTracer tracer({.share = share}, clock_, 5);
    // Six standard deviations: this does not fail by chance with another seed either.
    EXPECT_NEAR(sampled_of(tracer, kRequests, ""), share * kRequests, 6 * 160.0 * (share > 0 && share < 1));
  }
}

TEST_F(RequestTracerTest, NewTracesHaveIdsOfTheirOwn) {
  RequestTracer tracer({.share = 1}, clock_, 5);
  std::set<std::array<std::uint8_t, 16>> ids;
  for (int i = 0; i < 1'000; ++i) ids.insert(tracer.trace_of("")->trace_id);
  EXPECT_EQ(ids.size(), 1'000u);
}

TEST_F(RequestTracerTest, ACallersTraceIsContinuedAsItSays) {
  RequestTracer tracer({.share = 1}, clock_, 5);
  ASSERT_TRUE(tracer.trace_of(kSampled));
  EXPECT_EQ(traceparent_text(*tracer.trace_of(kSampled)), kSampled);
  EXPECT_EQ(traceparent_text(*tracer.trace_of(kUnsampled)), kUnsampled) << "not sampled by us instead";
  EXPECT_TRUE(tracer.trace_of("00-nonsense")->is_sampled()) << "as if there were no header";
}

TEST_F(RequestTracerTest, CallersCannotTurnOnMoreThanTheBound) {
  for (const int threads : {1, 4}) {
    RequestTracer tracer({.share = 0, .threads = threads}, clock_, 5);
    const auto bound = static_cast<int>(kCallerTracesPerSecond / threads);
    EXPECT_EQ(sampled_of(tracer, 10'000, kSampled), bound) << "at once";
    EXPECT_TRUE(tracer.trace_of(kSampled)) << "the trace goes on, unsampled";
    clock_.advance(1'000'000);
    EXPECT_EQ(sampled_of(tracer, 10'000, kSampled), bound) << "a second later";
  }
}

}  // namespace
}  // namespace sluice

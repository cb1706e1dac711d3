#pragma once

#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include <sluice/limiter.h>

// Counts what a limiter decides and how long it takes, for Prometheus. One file without anything behind it:
// copy it, and count what you need.
//
//   sluice::MetricsLimiter limiter(std::move(opened.limiter));
//   if (path == "/metrics") send(limiter.text());
//
//   sluice_checks_total{outcome="allowed"} 17
//   sluice_check_seconds_bucket{le="0.001"} 16
namespace sluice {

// A limiter that counts. Thread-safe.
class MetricsLimiter final : public Limiter {
 public:
  explicit MetricsLimiter(std::unique_ptr<Limiter> inner) : inner_(std::move(inner)) {}

  Answer check(const Request& request) override {
    const auto begun = std::chrono::steady_clock::now();
    Answer answer = inner_->check(request);
    count(answer, begun);
    return answer;
  }
  void check_async(const Request& request, Done done) override {
    const auto begun = std::chrono::steady_clock::now();
    inner_->check_async(request, [this, begun, done = std::move(done)](const Answer& answer) {
      count(answer, begun);
      done(answer);
    });
  }
  ResetAnswer reset(const Request& request) override { return inner_->reset(request); }
  void close() override { inner_->close(); }
  bool sleep_until(std::chrono::steady_clock::time_point time) override { return inner_->sleep_until(time); }

  // The counts so far, in Prometheus' text format.
  std::string text() const {
    std::string text = "# TYPE sluice_checks_total counter\n";
    for (std::size_t i = 0; i < kOutcomes.size(); ++i)
      add_line(text, "sluice_checks_total{outcome=\"" + std::string(kOutcomes[i]) + "\"}", outcomes_[i]);
    text += "# TYPE sluice_check_seconds histogram\n";
    std::uint64_t sum = 0;
    for (std::size_t i = 0; i < kBuckets.size(); ++i)
      add_line(text, "sluice_check_seconds_bucket{le=\"" + std::string(kBuckets[i].name) + "\"}",
               sum += buckets_[i].load(std::memory_order_relaxed));
    add_line(text, "sluice_check_seconds_count", sum);
    return text;
  }

 private:
  static constexpr std::array<std::string_view, 4> kOutcomes = {"allowed", "denied", "degraded", "error"};
  struct Bucket {
    std::string_view name;
    std::chrono::nanoseconds at_most;
  };
  static constexpr std::array<Bucket, 7> kBuckets = {{{"0.000001", std::chrono::microseconds(1)},
                                                      {"0.00001", std::chrono::microseconds(10)},
                                                      {"0.0001", std::chrono::microseconds(100)},
                                                      {"0.001", std::chrono::milliseconds(1)},
                                                      {"0.01", std::chrono::milliseconds(10)},
                                                      {"0.1", std::chrono::milliseconds(100)},
                                                      {"+Inf", std::chrono::nanoseconds::max()}}};
  using Count = std::atomic<std::uint64_t>;

  static std::size_t outcome_of(const Answer& answer) {
    if (answer.degraded) return 2;
    if (answer.trouble != Trouble::kNone) return 3;
    return answer.allowed ? 0 : 1;
  }
  void count(const Answer& answer, std::chrono::steady_clock::time_point begun) {
    const auto took = std::chrono::steady_clock::now() - begun;
    std::size_t bucket = 0;
    while (took > kBuckets[bucket].at_most) ++bucket;
    outcomes_[outcome_of(answer)].fetch_add(1, std::memory_order_relaxed);
    buckets_[bucket].fetch_add(1, std::memory_order_relaxed);
  }
  static void add_line(std::string& text, const std::string& name, std::uint64_t value) {
    text += name + ' ' + std::to_string(value) + '\n';
  }

  std::array<Count, kOutcomes.size()> outcomes_{};
  std::array<Count, kBuckets.size()> buckets_{};
  const std::unique_ptr<Limiter> inner_;  // last: until it is closed, answers may come
};

}  // namespace sluice

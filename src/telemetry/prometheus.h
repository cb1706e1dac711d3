#pragma once

#include <cstdint>
#include <initializer_list>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "base/duration_histogram.h"

namespace sluice {

// Writes metrics in Prometheus text format. Not thread-safe; made for one scrape.
//
//   PrometheusText text;
//   text.family("rate_limiter_requests_allowed_total", "counter", "Checks that were allowed.");
//   text.sample({{"policy", "api.read"}}, 42);
class PrometheusText {
 public:
  using Label = std::pair<std::string_view, std::string_view>;

  // Starts a family; the samples that follow belong to it. REQUIRES: each name is started once.
  void family(std::string_view name, std::string_view type, std::string_view help);
  void sample(std::initializer_list<Label> labels, std::uint64_t value);
  // Without a value: +Inf.
  void sample_or_infinite(std::initializer_list<Label> labels, std::optional<std::uint64_t> value);
  void sample_signed(std::initializer_list<Label> labels, std::int64_t value);
  // A histogram. `counts`: of each bucket alone; the last one has no bound.
  void histogram(std::initializer_list<Label> labels, std::span<const std::string_view> bounds,
                 std::span<const std::uint64_t> counts, std::string_view sum);
  void histogram(std::initializer_list<Label> labels, const DurationHistogram& durations);
  void sample_seconds(std::initializer_list<Label> labels, std::int64_t us);

  // Another form of a finished page: OpenMetrics 1.0, "# EOF" included.
  static std::string as_open_metrics(std::string_view page);

  std::string take() && { return std::move(text_); }

 private:
  void add(std::span<const Label> labels, std::string_view value, std::string_view suffix = "");

  std::string name_;
  std::string text_;
};

}  // namespace sluice

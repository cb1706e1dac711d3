#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "usage/sink.h"

namespace sluice::usage {

// Drives a sink in tests: gives it numbered events, and turns it until something is true. Not thread-safe.
class SinkDriver {
 public:
  UsageSink::OnDone on_done() {
    return [this](std::unique_ptr<UsageBatch> batch) { done_ += batch->size(); };
  }

  // Gives it `count` more events, in one batch, whose bodies are {"n":0}, {"n":1}, …
  void give(UsageSink& sink, std::size_t count) {
    auto batch = std::make_unique<UsageBatch>();
    for (std::size_t i = 0; i < count; ++i)
      batch->add(
          0, [](std::string& out) { out += "t/alice"; }, [this](std::string& out) { out += body(given_++); });
    sink.take(std::move(batch));
  }
  static std::string body(std::size_t n) { return "{\"n\":" + std::to_string(n) + "}"; }

  // Those of the first `count` events.
  static std::vector<std::string> bodies(std::size_t count) {
    std::vector<std::string> all;
    for (std::size_t i = 0; i < count; ++i) all.push_back(body(i));
    return all;
  }

  // Gives it batches until there are so many events, as soon as it has room, and waits until all are
  // acknowledged.
  [[nodiscard]] bool send_all(UsageSink& sink, std::size_t count, std::size_t per_batch) {
    return turns_until(sink, [&] {
      while (given_ < count && sink.has_room()) give(sink, std::min(per_batch, count - given_));
      return given_ == count && sink.status().in_hand == 0;
    });
  }

  // False: it did not come true within a minute.
  [[nodiscard]] bool turns_until(UsageSink& sink, const std::function<bool()>& is_true) const {
    constexpr std::int64_t kPatienceUs = 60'000'000;
    const std::int64_t end_us = clock_.now_us() + kPatienceUs;
    while (!is_true()) {
      if (clock_.now_us() >= end_us) return false;
      sink.step(10);
    }
    return true;
  }

  std::size_t given() const { return given_; }
  std::size_t done() const { return done_; }
  const Clock& clock() const { return clock_; }

 private:
  const SystemClock clock_;
  std::size_t given_ = 0;
  std::size_t done_ = 0;
};

}  // namespace sluice::usage

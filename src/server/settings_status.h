#pragma once

#include <cstdint>
#include <mutex>
#include <string>

#include "telemetry/prometheus.h"

namespace sluice::server {

// The results of settings reloads. Thread-safe.
class SettingsStatus {
 public:
  void note_taken() {
    const std::lock_guard lock(mutex_);
    ++taken_;
    problem_.clear();
  }
  void note_refused(const std::string& why) {
    const std::lock_guard lock(mutex_);
    ++refused_;
    problem_ = "the last reload of the settings was refused, the previous settings stay in force: " + why;
  }

  // A sentence for /readyz; empty if the last reload succeeded, or there was none.
  std::string problem() const {
    const std::lock_guard lock(mutex_);
    return problem_;
  }
  std::string metrics() const {
    const std::lock_guard lock(mutex_);
    PrometheusText text;
    text.family(
        "rate_limiter_settings_reloads_total", "counter",
        "Reloads of the settings, by result; after a refused one the previous settings stay in force.");
    text.sample({{"result", "taken"}}, taken_);
    text.sample({{"result", "refused"}}, refused_);
    return std::move(text).take();
  }

 private:
  mutable std::mutex mutex_;
  std::uint64_t taken_ = 0, refused_ = 0;  // guarded by mutex_
  std::string problem_;                    // guarded by mutex_
};

}  // namespace sluice::server

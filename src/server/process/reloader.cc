#include "server/process/reloader.h"

#include <utility>

#include "telemetry/prometheus.h"

namespace sluice::server {

Reloader::Reloader(std::function<void()> job) : job_(std::move(job)), thread_([this] { run(); }) {}

Reloader::~Reloader() {
  {
    const Lock lock(mutex_);
    stopping_ = true;
  }
  woken_.notify_all();
  thread_.join();
}

void Reloader::request() {
  {
    const Lock lock(mutex_);
    requested_ = true;
  }
  woken_.notify_all();
}

void Reloader::run() {
  for (;;) {
    {
      const Lock lock(mutex_);
      while (!requested_ && !stopping_) woken_.wait(mutex_);
      if (stopping_) return;
      requested_ = false;
    }
    job_();
  }
}

void SettingsStatus::note_taken() {
  const Lock lock(mutex_);
  ++taken_;
  problem_.clear();
}

void SettingsStatus::note_refused(const std::string& why) {
  const Lock lock(mutex_);
  ++refused_;
  problem_ = "the last reload of the settings was refused, the previous settings stay in force: " + why;
}

std::string SettingsStatus::problem() const {
  const Lock lock(mutex_);
  return problem_;
}

std::string SettingsStatus::metrics() const {
  const Lock lock(mutex_);
  PrometheusText text;
  text.family("rate_limiter_settings_reloads_total", "counter",
              "Reloads of the settings, by result; after a refused one the previous settings stay in force.");
  text.sample({{"result", "taken"}}, taken_);
  text.sample({{"result", "refused"}}, refused_);
  return std::move(text).take();
}

}  // namespace sluice::server

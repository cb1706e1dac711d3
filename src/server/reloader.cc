#include "server/reloader.h"

#include <utility>

namespace sluice::server {

Reloader::Reloader(std::function<void()> job) : job_(std::move(job)), thread_([this] { run(); }) {}

Reloader::~Reloader() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  woken_.notify_all();
  thread_.join();
}

void Reloader::request() {
  {
    const std::lock_guard lock(mutex_);
    requested_ = true;
  }
  woken_.notify_all();
}

void Reloader::run() {
  for (;;) {
    {
      std::unique_lock lock(mutex_);
      woken_.wait(lock, [this] { return requested_ || stopping_; });
      if (stopping_) return;
      requested_ = false;
    }
    job_();
  }
}

}  // namespace sluice::server

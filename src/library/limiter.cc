#include <sluice/limiter.h>

#include <thread>

namespace sluice {

Limiter::~Limiter() = default;

bool Limiter::sleep_until(std::chrono::steady_clock::time_point time) {
  std::this_thread::sleep_until(time);
  return true;
}

}  // namespace sluice

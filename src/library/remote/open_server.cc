#include <sluice/open.h>

#include <utility>

#include "library/remote/remote_limiter.h"

namespace sluice {

Opened open_server(const RemoteOptions& options) {
  auto limiter = library::RemoteLimiter::open(options);
  if (!limiter) return {.limiter = nullptr, .error = std::move(limiter.error())};
  return {.limiter = *std::move(limiter), .error = {}};
}

}  // namespace sluice

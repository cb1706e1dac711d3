#pragma once

#include <memory>

#include "base/clock.h"
#include "base/secret/secret_ring.h"
#include "server/serve_options.h"
#include "usage/usage_sender.h"

namespace sluice::server {

// The sender of --usage-events; null without the flag. Throws CommandError if the URL is wrong, or librdkafka
// is missing or does not take the settings. A server that cannot be reached does not prevent the start.
std::unique_ptr<usage::UsageSender> start_usage(const ServeOptions& options, const Clock& clock,
                                                const std::shared_ptr<SecretRing>& secrets,
                                                const usage::UsagePump::Log& log);

}  // namespace sluice::server

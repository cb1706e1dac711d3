#include "server/setup/usage_setup.h"

#include <fmt/format.h>

#include <utility>

#include "server/command_error.h"

namespace sluice::server {
namespace {

CommandError usage_error(const Error& error) {
  return CommandError(fmt::format("--usage-events: {}", error.message));
}

}  // namespace

std::unique_ptr<usage::UsageSender> start_usage(const ServeOptions& options, const Clock& clock,
                                                const std::shared_ptr<SecretRing>& secrets,
                                                const usage::UsagePump::Log& log) {
  if (options.usage_events.empty()) return nullptr;
  auto target = usage::parse_usage_target(options.usage_events);
  if (!target) throw usage_error(target.error());
  auto sender =
      usage::UsageSender::start({.target = std::move(*target),
                                 .clock = clock,
                                 .secrets = secrets,
                                 .queue_bytes = static_cast<std::size_t>(options.usage_queue_mib) << 20,
                                 .log = log});
  if (!sender) throw usage_error(sender.error());
  return std::move(*sender);
}

}  // namespace sluice::server

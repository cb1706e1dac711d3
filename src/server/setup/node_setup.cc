#include "server/setup/node_setup.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <thread>

#include "server/command_error.h"

namespace sluice::server {
namespace {

constexpr std::uint64_t kLocalLimiterMiB = 64;  // for `on_failure: local`, with counters elsewhere

}  // namespace

std::string node_name() {
  char name[256] = {};
  return ::gethostname(name, sizeof name - 1) == 0 ? name : "";
}

// Each thread has its own connection to every server.
int thread_count(int wanted, std::optional<int> connections_max) {
  if (wanted == 0) {
    const int cores = static_cast<int>(std::max(1u, std::thread::hardware_concurrency()));
    return std::min(cores, connections_max.value_or(cores));
  }
  if (connections_max && wanted > *connections_max)
    throw CommandError(fmt::format(
        "REDIS_MAX_CONN allows {} connections, but each of the {} threads needs one; lower --threads",
        *connections_max, wanted));
  return wanted;
}

const StoreSettings& default_store(const Cells& cells) { return cells.list().front().store; }

std::uint64_t memory_bytes(const ServeOptions& options, const Cells& cells) {
  const std::uint64_t bytes = options.memory_mib * kMiB;
  const bool only_for_failures = default_store(cells).redis && options.cells.empty();
  return only_for_failures ? std::min(bytes, kLocalLimiterMiB * kMiB) : bytes;
}

DecisionRecord::Settings decision_settings(const ServeOptions& options, const Cells& cells) {
  return {
      .bytes = options.decisions_mib * kMiB,
      .loops = static_cast<std::size_t>(thread_count(options.threads, default_store(cells).connections_max)),
      .sample_one_in = options.decision_sample,
      .shows_values = options.key_secrets.empty()};
}

}  // namespace sluice::server

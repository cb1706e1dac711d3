#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "engine/record/decision_record.h"
#include "server/cells/cells.h"
#include "server/serve_options.h"

// What the options say about the node itself: its name, its threads and its memory.
namespace sluice::server {

inline constexpr std::uint64_t kMiB = std::uint64_t{1} << 20;

// The machine's name.
std::string node_name();

// `connections_max`: of the store; nullopt: no bound. Throws CommandError.
int thread_count(int wanted, std::optional<int> connections_max);

const StoreSettings& default_store(const Cells& cells);

// For counters in memory, or those of `on_failure: local`.
std::uint64_t memory_bytes(const ServeOptions& options, const Cells& cells);

DecisionRecord::Settings decision_settings(const ServeOptions& options, const Cells& cells);

}  // namespace sluice::server

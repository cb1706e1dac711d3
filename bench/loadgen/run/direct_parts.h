#pragma once

#include <expected>
#include <string>

#include "base/clock.h"
#include "base/limits/hot_key_limits.h"
#include "base/secret/hash.h"
#include "engine/hot/hot_keys.h"
#include "engine/request/check_request.h"
#include "loadgen/options.h"
#include "loadgen/traffic/key_source.h"
#include "policy/snapshot/snapshot_publisher.h"
#include "store/params_table.h"
#include "telemetry/decision_counters.h"

namespace sluice::loadgen {

// What the threads of an in-process run share, whatever the store.
struct DirectParts {
  explicit DirectParts(const Clock& real_clock) : clock(real_clock) {}

  // Loads the policies of a file. The error is a sentence.
  std::expected<void, std::string> load_policies(const std::string& file_name);

  const Clock& clock;
  ParamsTable params;
  SnapshotPublisher snapshots;
  // A fixed secret: in a store that outlives the run, the next run finds the same keys.
  KeyHasher hasher = KeyHasher::from_text("sluice bench");
  DecisionTotals totals;
  HotKeys hot_keys{kHotKeyRate};
};

// The checks of one thread, one after the other. Not thread-safe.
class CheckSource {
 public:
  // `options` must outlive this object.
  CheckSource(const BenchOptions& options, std::uint32_t thread);
  CheckSource(const CheckSource&) = delete;
  CheckSource& operator=(const CheckSource&) = delete;

  // Valid until the next call.
  const CheckRequest& next();

 private:
  KeySource keys_;
  char key_[1 + kKeyDigits] = {'k'};
  Dimension dimension_;
  CheckRequest request_;
};

}  // namespace sluice::loadgen

#pragma once

#include <expected>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <sluice/open.h>

#include "policy/snapshot/snapshot_publisher.h"
#include "store/params_table.h"

namespace sluice::library {

// The policies of a limiter. They are read once and never change, so that answers may refer to their texts as
// long as the limiter lives. Thread-safe.
class FixedPolicies {
 public:
  // Reads them as a server reads its policy files. The error has a line for each problem. `nodes`: as in
  // RedisOptions.
  static std::expected<std::unique_ptr<FixedPolicies>, std::string> load(const PolicySource& source,
                                                                         int nodes = 1);

  ParamsTable& params() { return params_; }
  const SnapshotPublisher& in_force() const { return in_force_; }
  // "api.read#1". REQUIRES: it is one of these policies.
  std::string_view version_text(const CompiledPolicy& policy) const { return version_texts_[policy.index]; }

 private:
  FixedPolicies() = default;

  ParamsTable params_;
  SnapshotPublisher in_force_;
  std::vector<std::string> version_texts_;  // by index
};

}  // namespace sluice::library

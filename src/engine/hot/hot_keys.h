#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "base/mutex.h"
#include "engine/hot/hot_sketch.h"

namespace sluice {

// The hot keys of a node: what the sketches of all its loops know, added up when somebody asks. Thread-safe.
// Nothing is decided by it; but callers of a key that is promoted are advised to lease.
class HotKeys {
 public:
  // A key with at least so many checks a second is promoted, until it has less than half of that. 0: none is.
  explicit HotKeys(std::int64_t promote_rate) : promote_rate_(promote_rate) {}

  std::int64_t promote_rate() const { return promote_rate_; }

  // The largest rates first.
  std::vector<HotKey> list(const HotQuery& query, std::int64_t now_us) const;

  // Decides which keys are promoted. Called by one loop, a few times a second.
  void promote(std::int64_t now_us);
  // At most kPromotedKeysMax; never null.
  std::shared_ptr<const PromotedKeys> promoted() const;

 private:
  friend class HotSketch;
  void add(HotSketch& sketch);
  void remove(HotSketch& sketch);
  std::vector<HotKey> add_up(const HotQuery& query, std::int64_t now_us) const SLUICE_REQUIRES(mutex_);

  const std::int64_t promote_rate_;
  mutable Mutex mutex_;
  std::vector<HotSketch*> sketches_ SLUICE_GUARDED_BY(mutex_);
  // Loops look here, and must not wait for somebody who reads all keys.
  mutable Mutex promoted_mutex_;
  std::shared_ptr<const PromotedKeys> promoted_ SLUICE_GUARDED_BY(promoted_mutex_) =
      std::make_shared<PromotedKeys>();
};

}  // namespace sluice

#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/limits/hot_key_limits.h"
#include "base/mutex.h"
#include "base/secret/hash.h"
#include "engine/hot/hot_names.h"
#include "engine/hot/promoted_keys.h"
#include "engine/hot/sampler.h"
#include "engine/hot/top_keys.h"

namespace sluice {

// A key and its rates, as far as they are known.
struct HotKey {
  std::string policy_id, limit;
  std::string tenant;  // empty: several tenants share the counter
  KeyHash key;
  std::shared_ptr<const std::vector<CompiledDimension>> dimensions;  // of the limit
  std::string values;                                                // as in HotNames
  double rate = 0;                                                   // checks a second, and units of leases
  double denied_rate = 0;                                            // denials a second by this limit
  bool is_leased = false;
};

struct HotQuery {
  enum class By : std::uint8_t { kRate, kDenied };
  By by = By::kRate;
  std::string_view policy_id;                              // empty: all
  std::function<bool(std::string_view tenant)> of_tenant;  // as in HotKey; empty: all
  double at_least = 0;                                     // of the rate that it is about, per loop
  std::size_t most = kHotKeysListedMax;
};

// What was decided about one counter.
struct HotCheck {
  const CompiledPolicy& policy;
  const CompiledLimit& limit;
  KeyHash key;
  HotNames::Name name;
  double checks = 1;       // how many it stands for
  bool is_denied = false;  // by this limit
  bool is_leased = false;  // units were leased
};

class HotKeys;

// Which keys are busiest, and which are denied most, among the checks of one loop: approximately, in bounded
// memory. note() and what stands with it belong to the loop's thread; collect() is thread-safe.
//
//   section (tenant, limit) ──► the busiest 64 keys, the 32 most denied (TopKeys)
//
// Sections are kept like keys, those with the most checks. Because each tenant has sections of its own, a
// tenant with a million keys hides no other tenant's.
//
// Rates decay with a time constant of two seconds. Instead of shrinking old weights, new ones grow: the
// weight of a check is e^(t ÷ 2 s), and what is shown is divided by that of now ("forward decay", Cormode et
// al. 2009). So nothing has to be touched as time passes.
//
// Only picked checks come here (Sampler): nothing is locked or allocated for the others. A picked check takes
// a lock that nobody else holds, unless the keys are being read at this moment: then it is not counted.
class HotSketch {
 public:
  // `shows_values`: see HotNames. All outlive it.
  HotSketch(HotKeys& all, const KeyHasher& hasher, std::uint64_t seed, bool shows_values);
  ~HotSketch();
  HotSketch(const HotSketch&) = delete;
  HotSketch& operator=(const HotSketch&) = delete;

  // --- for the loop's thread ---

  bool picks() { return sampler_.picks(); }
  double weight() const { return sampler_.weight(); }
  // How many checks a lease of so many units stands for. Each unit is a check that the holder does not send,
  // so a key stays promoted while it is leased. But a lease is one call: if it weighed as much as a million
  // checks, a few of them would displace the sections of tenants who really send their checks. What promotes
  // a key is enough.
  double weight_of_lease(std::int64_t units) const;
  bool shows_values() const { return shows_values_; }
  void note(const HotCheck& check);
  void tick(std::int64_t now_us);

  // By what tick() has last seen.
  bool has_promoted() const { return !promoted_->empty(); }
  bool is_promoted(const KeyHash& key) const { return promoted_->contains(key); }

  // --- for any thread ---

  // Adds the keys with the largest rates.
  void collect(const HotQuery& query, std::int64_t now_us, std::vector<HotKey>& out);

 private:
  struct Note {
    std::string values;
    std::int64_t leased_until_us = 0;
  };
  using Keys = TopKeys<Note>;
  struct Section {
    std::string policy_id, limit, tenant;
    std::shared_ptr<const std::vector<CompiledDimension>> dimensions;
    Keys by_checks{kHotKeysPerSection};
    Keys by_denials{kHotDeniedPerSection};
  };
  using Sections = TopKeys<std::unique_ptr<Section>>;

  KeyHash section_of(const HotCheck& check);
  Section* find_section(const HotCheck& check, double weight) SLUICE_REQUIRES(mutex_);
  void add(Keys& to, const HotCheck& check, double weight) SLUICE_REQUIRES(mutex_);
  void begin_anew(std::int64_t now_us) SLUICE_REQUIRES(mutex_);

  HotKeys& all_;
  const KeyHasher& hasher_;
  const bool shows_values_;
  Sampler sampler_;
  std::shared_ptr<const PromotedKeys> promoted_;
  std::string scratch_;
  std::int64_t next_look_us_ = 0;

  Mutex mutex_;
  Sections sections_ SLUICE_GUARDED_BY(mutex_){kHotSections};
  std::int64_t now_us_ SLUICE_GUARDED_BY(mutex_) = 0;    // of the latest tick
  std::int64_t begin_us_ SLUICE_GUARDED_BY(mutex_) = 0;  // when a check has the weight 1
  double weight_now_ SLUICE_GUARDED_BY(mutex_) = 1;
};

}  // namespace sluice

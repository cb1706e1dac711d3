#pragma once

#include <atomic>
#include <cstdint>
#include <string>
#include <vector>

#include "base/limits/decision_limits.h"
#include "base/mutex.h"
#include "base/secret/hash.h"
#include "engine/observe/decision_observer.h"
#include "engine/record/fair_log.h"

namespace sluice {

class DecisionRecord;

// What one loop remembers of its decisions: denied and degraded ones (of each tenant and policy as many in a
// second as FairShare admits), and a sample of the others, which take at most a quarter of the memory.
// on_decision() belongs to the loop's thread and waits for nobody: while somebody reads at this moment, the
// decision is dropped, and a metric counts that. The rest is thread-safe.
class LoopDecisions final : public DecisionObserver {
 public:
  explicit LoopDecisions(DecisionRecord& record);
  ~LoopDecisions() override;
  LoopDecisions(const LoopDecisions&) = delete;
  LoopDecisions& operator=(const LoopDecisions&) = delete;

  Interest interest() const override;
  void on_decision(const DecisionEvent& event) override;

 private:
  friend class DecisionRecord;
  KnownDecision known(const DecisionEvent& event);
  void show_texts(const AskedTexts& asked, KnownDecision& decision) const;

  DecisionRecord& record_;
  std::string scratch_;
  Mutex mutex_;
  FairLog notable_ SLUICE_GUARDED_BY(mutex_);  // denied or degraded
  FairLog others_ SLUICE_GUARDED_BY(mutex_);
};

// The recent decisions of a node, of all its loops: "why was this denied?" Thread-safe.
//
//   DecisionRecord record({.bytes = 4 << 20, .loops = 2}, hasher);
//   LoopDecisions decisions(record);                        // one per loop, an observer of its engine
//   for (const KnownDecision& each : record.list({.result = DecisionQuery::Result::kDenied})) …
class DecisionRecord {
 public:
  struct Settings {
    std::size_t bytes = kDecisionsMiB << 20;  // of all loops together; 0: nothing is recorded
    std::size_t loops = 1;
    std::uint32_t sample_one_in = kDecisionSampleOneIn;
    // False: keys are shown as "~" and their hash, other values and request ids not at all.
    bool shows_values = true;
  };
  // The hasher outlives it.
  DecisionRecord(const Settings& settings, const KeyHasher& hasher) : settings_(settings), hasher_(hasher) {}

  bool is_on() const { return settings_.bytes > 0; }
  // The newest first, at most query.most.
  std::vector<KnownDecision> list(const DecisionQuery& query) const;
  // For DecisionQuery. Keys are not kept where they are not to be shown.
  KeyHash hash_of_key(std::string_view key) const { return finder_(key); }
  std::string metrics() const;  // Prometheus text

 private:
  friend class LoopDecisions;
  std::size_t bytes_per_loop() const { return settings_.bytes / std::max<std::size_t>(settings_.loops, 1); }

  const Settings settings_;
  const KeyHasher& hasher_;
  const KeyHasher finder_ = KeyHasher::with_random_secret();
  std::atomic<std::uint64_t> number_ = 0;  // of the latest decision
  std::atomic<std::uint64_t> recorded_ = 0, dropped_ = 0;
  mutable Mutex mutex_;
  std::vector<LoopDecisions*> loops_ SLUICE_GUARDED_BY(mutex_);
};

}  // namespace sluice

#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "base/limits.h"
#include "store/async_store.h"
#include "store/params_table.h"
#include "store/redis/counter_view.h"
#include "store/redis/freed_counters.h"

namespace sluice {

// Counters that denied somebody a moment ago, as they were then: whoever asks again before they have room
// gets the same answer without a round trip. Belongs to one event loop's thread.
//
//   a call is denied            its counters are noted, with the server's time
//   the same is asked again     the steps are taken from there, by the time that has passed: denied, and the
//                               numbers are those that the server would tell
//   they have room again        the steps say so: the server is asked
//
// It denies, and never allows. What others charge meanwhile makes a counter only fuller. What others give
// back in this process is noticed at once (FreedCounters), what other processes give back after kForUs at the
// latest: no counter is believed for longer. Other numbers of a limit are another question.
//
// Not for calls with a request id, looks, refunds, limits that charge what they deny, and leaky_bucket, which
// counts it: each of these is for the server to hear of.
class RememberedDenials {
 public:
  static constexpr std::int64_t kForUs = 100'000;

  // `for_us`: 0, nothing is remembered. REQUIRES: params outlives it.
  RememberedDenials(const ParamsTable& params, std::shared_ptr<const FreedCounters> freed,
                    std::int64_t for_us = kForUs)
      : params_(params), freed_(std::move(freed)), for_us_(for_us) {}

  // Nothing is remembered: there is no need to ask.
  bool empty() const { return !has_any_; }

  // Answers the call, if what is remembered denies it. `decide_at_us`: the time of the server, 0 if it
  // follows from ours.
  bool deny(StoreCall& call, std::int64_t now_us, std::int64_t decide_at_us) const;

  // What a reply said of a counter.
  struct Heard {
    KeyHash key;
    std::uint32_t slot_tag = 0;
    ParamsId params = 0;
    std::int64_t asked_at_us = 0;     // by our clock
    std::int64_t answered_at_us = 0;  // the same
    std::int64_t decided_at_us = 0;   // by the server's
  };
  // Whether that is worth telling: `has_denied` somebody; or it is remembered, and should stay up to date.
  bool wants(const KeyHash& key, bool has_denied) const { return has_denied || (has_any_ && may_have(key)); }
  // `left` absent: how the counter was left cannot be known.
  void hear(const Heard& heard, const std::optional<CounterView::Left>& left);

  // Forgets what nobody believes any more. Called now and then.
  void tick(std::int64_t now_us) {
    if (has_any_ && now_us >= last_asked_us_ + for_us_) clear();
  }
  void clear();

 private:
  struct Entry {
    Heard heard;
    CounterView::Left left;
  };
  // A counter has one place; the latest that wants it has it.
  static std::size_t place_of(const KeyHash& key) { return key.low % kRememberedCountersMax; }
  static std::uint8_t mark_of(const KeyHash& key) { return static_cast<std::uint8_t>(key.high | 1); }
  bool may_have(const KeyHash& key) const { return marks_[place_of(key)] == mark_of(key); }
  const Entry* find(const Charge& charge, std::int64_t now_us) const;
  bool is_for_the_server(const Charge& charge) const;

  const ParamsTable& params_;
  const std::shared_ptr<const FreedCounters> freed_;
  const std::int64_t for_us_;
  std::vector<std::uint8_t> marks_;  // of entries_, 0: none; small, so that most questions end here
  std::vector<Entry> entries_;
  bool has_any_ = false;
  std::int64_t last_asked_us_ = 0;  // of all that is heard
};

}  // namespace sluice

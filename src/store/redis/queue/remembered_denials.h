#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "base/limits.h"
#include "store/params_table.h"
#include "store/redis/queue/freed_counters.h"
#include "store/redis/script/counter_view.h"
#include "store/store.h"

namespace sluice {

// Counters that denied a check a moment ago, as they were then. A retry before the counter has room gets the
// same answer without a round trip. Belongs to one event loop's thread.
//
//   a call is denied            its counters are noted, with the server's time
//   the same call again         the algorithm steps on from there by the time that has passed: denied, with
//                               the numbers that the server would return
//   the counter has room again  the step says so: the server is asked
//
// It only denies, and never allows. Charges of others meanwhile only make a counter fuller. Refunds and
// resets of this process are noticed at once (FreedCounters), those of other processes after kForUs at the
// latest: no counter is trusted for longer. The same counter under other numbers is not remembered.
//
// Not for calls with a request id, looks, refunds, limits that charge what they deny, and leaky_bucket, which
// counts what it denies: the server must see each of these.
//
// While the server does not answer, a denial is remembered for longer, kWithoutAnswerUs, and for all calls
// that charge: the failure rule decides only about keys without a remembered denial. So load that slows a
// server down lifts no limit that was used up before.
class RememberedDenials {
 public:
  static constexpr std::int64_t kForUs = 100'000;
  static constexpr std::int64_t kWithoutAnswerUs = 10'000'000;

  // `for_us` 0: nothing is remembered. REQUIRES: params outlives it.
  RememberedDenials(const ParamsTable& params, std::shared_ptr<const FreedCounters> freed,
                    std::int64_t for_us = kForUs)
      : params_(params), freed_(std::move(freed)), for_us_(for_us) {}

  // Nothing is remembered: deny() need not be called.
  bool empty() const { return !has_any_; }

  // Answers the call if what is remembered denies it. `decide_at_us`: the server's time; 0: derive it from
  // ours.
  bool deny(StoreCall& call, std::int64_t now_us, std::int64_t decide_at_us) const;

  // The same for a call that the server has not answered: one counter that denies is enough. Counters of
  // which nothing is known are reported as fill_unknown() says.
  bool deny_unanswered(StoreCall& call, std::int64_t now_us, std::int64_t decide_at_us) const;

  // The server may come back without its counters. So what was remembered before is trusted only for calls
  // without an answer.
  void doubt(std::int64_t now_us) { doubted_until_us_ = now_us; }

  // What a reply said of a counter.
  struct Heard {
    KeyHash key;
    std::uint32_t slot_tag = 0;
    ParamsId params = 0;
    std::int64_t asked_at_us = 0;     // by our clock
    std::int64_t answered_at_us = 0;  // the same
    std::int64_t decided_at_us = 0;   // by the server's
  };
  // Whether hear() is needed: the counter `has_denied` a check, or is remembered and must stay up to date.
  bool wants(const KeyHash& key, bool has_denied) const { return has_denied || (has_any_ && may_have(key)); }
  // `left` absent: the state of the counter is not known.
  void hear(const Heard& heard, const std::optional<CounterView::Left>& left);

  // Forgets what is too old to be trusted. Called now and then.
  void tick(std::int64_t now_us) {
    if (has_any_ && now_us >= last_asked_us_ + (for_us_ > 0 ? kWithoutAnswerUs : 0)) clear();
  }
  void clear();

 private:
  struct Entry {
    Heard heard;
    CounterView::Left left;
  };
  // Each counter maps to one place; the latest counter there replaces the one before.
  static std::size_t place_of(const KeyHash& key) { return key.low % kRememberedCountersMax; }
  static std::uint8_t mark_of(const KeyHash& key) { return static_cast<std::uint8_t>(key.high | 1); }
  bool may_have(const KeyHash& key) const { return marks_[place_of(key)] == mark_of(key); }
  enum class Ask : std::uint8_t { kInPlaceOfServer, kWithoutAnswer };
  using Known = std::array<const Entry*, kLimitsPerCheckMax>;
  const Entry* find(const Charge& charge, std::int64_t now_us, Ask ask) const;
  bool is_for_the_server(const Charge& charge) const;
  // The server's time; none: its clock has stepped back, which the counters themselves have to see.
  static std::optional<std::int64_t> server_time(std::span<const Entry* const> known, std::int64_t now_us,
                                                 std::int64_t decide_at_us);

  const ParamsTable& params_;
  const std::shared_ptr<const FreedCounters> freed_;
  const std::int64_t for_us_;
  std::vector<std::uint8_t> marks_;  // of entries_; 0: none; small, so that most lookups end here
  std::vector<Entry> entries_;
  bool has_any_ = false;
  std::int64_t last_asked_us_ = 0;  // of all that is heard
  std::int64_t doubted_until_us_ = -1;
};

}  // namespace sluice

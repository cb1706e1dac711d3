#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/time_units.h"
#include "client/lease_bucket.h"
#include "client/lease_size.h"

namespace sluice {

// The server's answer to a request for units, with times relative to its arrival.
struct LeaseAnswer {
  std::string lease_id;
  std::int64_t granted = 0;  // 0: denied; then only retry_after_us counts
  std::int64_t expires_after_us = 0;
  std::int64_t refresh_after_us = 0;
  std::int64_t safe_capacity = 0;  // units for the time that the server cannot be reached
  std::int64_t retry_after_us = 0;
};

// Decides for one key when to ask the server for units, for how many, and what to do when it is gone. A
// machine without I/O and without a clock: the owner calls it with the time and does what it says. Belongs to
// one thread; others spend from its bucket, or by spend().
//
//   if (const std::int64_t want = key.want(now_us)) ask_server(want);   // later: on_answer or on_unreachable
//   wait_until(key.next_due_us());                                      // or until spend() wakes the owner
//
//   nothing ──spend──► ask ──granted──► spend ──below 20 %, or it expires soon──► ask again, ahead
//                       │                 └──expired, and not used since──► nothing
//                       ├──denied──► deny here until the server has room
//                       └──no answer──► spend what is left; then the lease's safe capacity, until a minute
//                                       after its end; then the failure rule
//
// Units are charged before they come here. So what all holders have spent is never more than what the server
// has charged, plus their safe capacities while they cannot reach it.
class LeasedKey {
 public:
  // `random`: a number in [0, 1). It spreads the requests of many holders. `expected`: units per second, as
  // far as known. REQUIRES: the bucket outlives it, and holds nothing.
  LeasedKey(LeaseBucket& bucket, std::function<double()> random, SizeRule rule = SizeRule::kRecent,
            double expected = 0)
      : random_(std::move(random)), bucket_(bucket), size_(rule, expected) {}
  // With a bucket of its own.
  explicit LeasedKey(std::function<double()> random)
      : random_(std::move(random)), own_bucket_(std::make_unique<LeaseBucket>()), bucket_(*own_bucket_) {}

  // --- for any thread ---

  LeaseBucket::Spend spend(std::int64_t cost, std::int64_t now_us) {
    return bucket_.spend(cost, now_us, bucket_.generation());
  }
  std::int64_t left() const { return bucket_.left(); }

  // --- for the owner ---

  // The units to ask for now; 0: nothing is to be asked. If not 0, the owner reports the answer by one of the
  // next two.
  std::int64_t want(std::int64_t now_us);
  // While the server is gone, makes the safe capacity spendable, if it is time for it.
  void use_safe_capacity(std::int64_t now_us);
  // What want() has just asked for is what it asked for last, without an answer. Ask with the same request
  // id: if the first request was granted, its lease is answered again.
  bool asks_again() const { return asks_again_; }
  void on_answer(const LeaseAnswer& answer, std::int64_t now_us);
  void on_unreachable(std::int64_t now_us);

  // A server can be reached again: do not wait any longer to ask it.
  void on_reachable() {
    if (bucket_.is_gone()) retry_at_us_ = 0;
  }
  bool is_asking() const { return asked_for_ > 0; }
  // Units of this lease can still be spent, or are to be returned: take_unused() may name it.
  bool holds(std::string_view lease_id) const;
  // The key is used too seldom for leases. Not because the server has denied more.
  bool is_slow(std::int64_t now_us) const {
    return size_.is_slow(refresh_us_, now_us) && !(was_denied_ && has_demand_);
  }
  // It holds nothing and asks for nothing.
  // It may be denied until later, if nobody has asked for it of late.
  bool is_idle(std::int64_t now_us) const {
    return asked_for_ == 0 && !bucket_.is_used(0) && !bucket_.is_used(1) &&
           (now_us >= retry_at_us_ || now_us - demand_at_us_ > kIdleUs);
  }

  // When to call want() again, even if spend() wakes nobody; later than the last call. INT64_MAX: never.
  std::int64_t next_due_us() const;

  // Nothing can be spent any more, and nothing is asked for. What is left goes to take_unused().
  void close(std::int64_t now_us);

  // Units that were never spent, of a lease that has not expired.
  struct Unused {
    std::string lease_id;
    std::int64_t units = 0;
  };
  // What to return to the server, if it is to be returned at all. Call it until there is none.
  std::optional<Unused> take_unused();

  // Takes note of what was spent until now. The other functions do so, too.
  void observe(std::int64_t now_us);
  // The same, while nothing is to be asked for: what has expired is ended.
  void pass_time(std::int64_t now_us);
  // How much of safe capacities was spent, as far as noted: units that no server has charged.
  std::int64_t safe_spent() const { return safe_spent_; }

  static constexpr std::int64_t kExtensionUs = kMinuteUs;
  static constexpr std::int64_t kIdleUs = kSecondUs;
  static constexpr std::int64_t kRetryLeastUs = 100'000;
  static constexpr std::int64_t kRetryMostUs = 5 * kSecondUs;

 private:
  static constexpr std::int64_t kNever = INT64_MAX;
  struct Held {
    std::string lease_id;        // empty: safe capacity, which the server never gave away
    std::int64_t seen_left = 0;  // when the rate was last observed
  };

  void end_expired(std::int64_t now_us);
  void end(std::size_t part);
  std::int64_t take_back(std::size_t part);
  void note_spent(std::size_t part, std::int64_t left);
  void end_safe_capacity();
  void make_room();
  void extend(std::int64_t now_us);
  void hold(const LeaseAnswer& lease, std::int64_t now_us);
  bool is_needed(std::int64_t now_us) const;
  std::int64_t jittered(std::int64_t units) const;

  std::function<double()> random_;
  std::unique_ptr<LeaseBucket> own_bucket_;  // null: it is somebody else's
  LeaseBucket& bucket_;
  LeaseSize size_;
  std::array<Held, LeaseBucket::kParts> held_;
  std::vector<Unused> unused_;
  std::int64_t refresh_us_ = kSecondUs;  // the server's advice
  std::int64_t low_mark_ = 1;            // fewer units than this: ask for more
  std::int64_t renew_at_us_ = kNever;    // shortly before the latest lease expires
  std::int64_t asked_for_ = 0;           // not 0: the answer is to come
  std::int64_t unanswered_ = 0;          // what was asked for and got no answer; 0: nothing
  std::int64_t retry_at_us_ = 0;         // nothing is asked before
  std::int64_t retry_us_ = 0;            // how long the last wait for a server that is gone was
  std::int64_t safe_capacity_ = 0;       // of the latest lease, until it is used
  std::int64_t extension_ends_us_ = 0;
  std::int64_t safe_again_us_ = 0;  // no safe capacity is used before
  std::int64_t asked_at_us_ = 0;
  std::int64_t unobserved_ = 0;  // units that the rate does not know of yet
  std::int64_t safe_spent_ = 0;
  std::int64_t demand_at_us_ = 0;  // when something was spent or missed last, as far as noted
  bool has_demand_ = false;        // something was spent, or missed, since units were last asked for
  bool was_denied_ = false;        // by the last answer
  bool asks_again_ = false;
  bool is_closed_ = false;
};

}  // namespace sluice

#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "store/store.h"

namespace sluice {

// Makes a request that comes twice count once: a decision that has charged something is kept in a record of
// its own, written in the same atomic step as the charges, and returned again. One that has charged nothing
// leaves no record: looks, and denials but of limits that charge them, are decided anew.
struct Dedupe {
  KeyHash id;                     // of tenant, policy and the caller's request_id
  std::uint64_t fingerprint = 0;  // of what was asked; the same id with another one is a conflict
  std::int64_t ttl_us = 0;
  // Where the record lives: the same for every request with this id, whatever it asks. Nodes of a cluster
  // cannot keep to it: what is written in one step lies on one slot, that of the charges.
  std::uint32_t slot_tag = 0;
  // Whose it is, hashes: memory for records is shared out between owners (request_owners.h).
  struct Owner {
    std::uint64_t caller = 0;
    std::uint64_t known_tenant = 0;  // 0: no policy names the tenant
    std::uint64_t tenant = 0;
  };
  Owner owner = {};
  // A hash of the limits that are asked: what others have said then means nothing to these.
  std::uint16_t terms = 0;
  // The request is charged on other slots, too, each of which keeps a record of its own. Whoever is told one
  // again answers for its charge from then on: only the last of them gives it back.
  bool is_part = false;
};

// A counter and the place it lives at.
struct CounterName {
  KeyHash key;
  std::uint32_t slot_tag = 0;
};

// Whose a call is: callers take turns, and so do the tenants of each. Who invents tenants gets no more turns
// by that, and who serves many tenants serves each.
struct Flow {
  std::uint32_t caller = 0;  // a connection
  std::uint32_t tenant = 0;  // a hash
  friend bool operator==(const Flow&, const Flow&) = default;
};

// What became of a StoreCall.
struct StoreAnswer {
  Verdict verdict = Verdict::kNoAnswer;
  std::int64_t now_us = 0;  // the store's time of the decision
  bool replayed = false;    // verdict, time and results are those of the first request with this dedupe id
  // kNoAnswer because the tenant's counters are on their way to another store, or have gone there: nothing
  // was charged, and nothing may be let through.
  bool moving = false;
  bool conflict = false;  // the dedupe id belongs to another request: denied, and nothing was charged
  std::uint8_t replays_before = 0;  // of a Dedupe::is_part: how many were told the same before
  // How many of the results are filled in: all or none. None without an answer, for a conflict, and for a
  // replay of a request that came under other limits (Dedupe::terms), or another number of them.
  std::size_t results_known = 0;
};

// A request to an AsyncStore and, once it is done, its answer. The caller owns it and keeps it where it is
// until then; the spans must live as long.
class StoreCall : public StoreAnswer {
 public:
  std::span<const Charge> charges;
  std::span<ChargeResult> results;  // as many as charges
  // On the process's clock: an answer after it is kNoAnswer; 0: none. It bounds the store's time, not ours:
  // what a call spends in our queue, behind others on a server that keeps answering, is added to it.
  std::int64_t deadline_us = 0;
  // When the caller goes, on the same clock; 0: not said. A call without an answer by then is kShed, unless
  // the store is known to fail: it says nothing about the store that somebody is in a hurry.
  std::int64_t caller_deadline_us = 0;
  Flow flow;
  std::optional<Dedupe> dedupe;
  // What becomes of it without an answer: the policies' on_failure. A store that has got a part of the answer
  // keeps what is charged there if the call passes nevertheless, and charges nothing for one that cannot.
  enum class WithoutAnswer : std::uint8_t { kUnknown, kPasses, kDenied };
  WithoutAnswer without_answer = WithoutAnswer::kUnknown;
  // Not 0: gives back what an allowed call with the same charges, answered with this `now_us`, has charged;
  // `results` still holds what it answered (algorithm/refund.h says why; all zero if it is not known: then
  // less comes back). Charges with OnDenial::kCharge stay, as in any check that is denied in the end.
  // Grant::kAnyTime: gives back units of which nobody knows when they were charged, all of them. Always
  // allowed; the results then tell the levels. With the dedupe id of the charge it takes the record along,
  // and so counts once; `replayed`: the record is gone, or somebody else's, and nothing was given back.
  std::int64_t refund_of_us = 0;
  std::uint8_t refund_replays_before = 0;  // what the answer had that is given back

  // For the store: it is on its second way, after a connection was lost with it. There is no third.
  bool sent_again = false;
  std::int64_t queued_at_us = 0;     // while it waits
  std::uint32_t work = 1;            // of the server's, as far as known then; see redis/redis_work.h
  StoreCall* next_queued = nullptr;  // in its flow

  // Whoever takes a call begins with this, for calls are used again: nobody reads the answer of before.
  void forget_answer() { static_cast<StoreAnswer&>(*this) = {}; }

  // The answer is there. Called on the thread that started the call, at most once, and not if start() said
  // "done".
  virtual void on_done() = 0;

 protected:
  ~StoreCall() = default;
};

// Counters somewhere else: answers take a round trip. Belongs to one event loop's thread; every loop has its
// own.
class AsyncStore {
 public:
  virtual ~AsyncStore() = default;

  // Forgets what the call was answered before, and charges as Store::apply() does. True: done already (for
  // instance, the breaker is open: kNoAnswer; or too much waits: kShed). False: on_done() will be called,
  // always.
  virtual bool start(StoreCall& call) = 0;

  // A hint that start() will soon be asked for this key, as in Store.
  virtual void prefetch(const KeyHash& /*key*/) const {}

  // Whether start() always says "done".
  virtual bool answers_at_once() const { return false; }

  // So much waits that whoever has questions under way should not bring more. Most stores never say so.
  virtual bool busy() const { return false; }

  // Forgets these counters. `done` gets how many existed, or a negative number for no answer.
  virtual void reset(std::span<const CounterName> counters, std::function<void(int)> done) = 0;

  // Between the two, calls may be gathered instead of sent one by one: whoever has many at hand says so.
  virtual void begin_burst() {}
  virtual void end_burst() {}

  // Time passes: deadlines, reconnects. Called by the loop about every ten milliseconds, and when
  // next_due_us() has come, with the process's clock.
  virtual void tick(std::int64_t now_us) = 0;
  // When some call reaches its deadline; INT64_MAX: none has one.
  virtual std::int64_t next_due_us() const = 0;

  struct Health {
    bool connected = false;
    std::vector<std::string> problems;  // sentences for /readyz
  };
  virtual Health health() const = 0;
};

}  // namespace sluice

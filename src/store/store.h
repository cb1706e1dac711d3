#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "store/charge.h"

namespace sluice {

struct StoreReport;  // store/store_report.h

// Makes a repeated request count once. A decision that has charged something is stored in a record of its
// own, which is written in the same atomic step as the charges, and is returned again for the same id. A
// decision that has charged nothing leaves no record: looks, and denials by limits that do not charge
// denials, are decided anew.
struct Dedupe {
  KeyHash id;                     // of tenant, policy and the caller's request_id
  std::uint64_t fingerprint = 0;  // of the request; the same id with another fingerprint is a conflict
  std::int64_t ttl_us = 0;
  // Where the record lives: the same for every request with this id, whatever its charges. A cluster cannot
  // use it: what is written in one step must be on one slot, that of the charges.
  std::uint32_t slot_tag = 0;
  // Hashes of the owner: memory for records is shared between owners (memory/request_owners.h).
  struct Owner {
    std::uint64_t caller = 0;
    std::uint64_t known_tenant = 0;  // 0: no policy names the tenant
    std::uint64_t tenant = 0;
  };
  Owner owner = {};
  // A hash of the limits of the request. A recorded answer under other limits does not apply to these.
  std::uint16_t terms = 0;
  // The request is also charged on other slots, each of which has its own record. A record that was told
  // again says so from then on: a refund leaves its charge, because the repeat may have been admitted.
  bool is_part = false;
};

// A counter and its slot.
struct CounterName {
  KeyHash key;
  std::uint32_t slot_tag = 0;
};

// The owner of a call, for fair queueing: callers take turns, and so do the tenants of each caller. A caller
// gains no turns by inventing tenants, and a caller with many tenants serves each of them.
struct Flow {
  std::uint32_t caller = 0;  // a connection
  std::uint32_t tenant = 0;  // a hash
  friend bool operator==(const Flow&, const Flow&) = default;
};

// The answer to a StoreCall.
struct StoreAnswer {
  Verdict verdict = Verdict::kNoAnswer;
  std::int64_t now_us = 0;  // the store's time of the decision
  bool replayed = false;    // verdict, time and results are those of the first request with this dedupe id
  // kNoAnswer because the tenant's counters are moving to another store, or have moved there: nothing was
  // charged, and the request must not be let through.
  bool moving = false;
  bool conflict = false;     // the dedupe id belongs to another request: denied, and nothing was charged
  std::int64_t granted = 0;  // of a lease: the units that were charged to each counter
  bool from_lease = false;   // decided here, by units that this node had leased
  // How many results are filled in: all or none. None if there is no answer, for a conflict, and for a replay
  // of a request that had other limits (Dedupe::terms) or another number of them.
  std::size_t results_known = 0;
};

// A request to a Store and, once it is done, its answer. The caller owns it and must not move it until
// then; the spans must live as long. Belongs to the thread that starts it.
class StoreCall : public StoreAnswer {
 public:
  std::span<const Charge> charges;
  std::span<ChargeResult> results;  // as many as charges
  // On the process's clock: an answer after it is kNoAnswer; 0: none. It bounds the store's time, not ours:
  // time spent in our queue, behind other calls to a server that keeps answering, is added to it.
  std::int64_t deadline_us = 0;
  // When the caller gives up, on the same clock; 0: not known. A call without an answer by then is kShed,
  // unless the store is known to be failing: an impatient caller says nothing about the store.
  std::int64_t caller_deadline_us = 0;
  Flow flow;
  std::optional<Dedupe> dedupe;
  // What happens without an answer (the policies' on_failure). If only a part of a call was answered, the
  // store keeps the charges of that part when the call passes anyway, and charges nothing for a call
  // that cannot pass.
  enum class WithoutAnswer : std::uint8_t { kUnknown, kPasses, kDenied };
  WithoutAnswer without_answer = WithoutAnswer::kUnknown;
  // A lease: every counter is charged as many units as all of them have room for, at most the cost of the
  // charges, which is the same for all. Allowed if that is at least one; `granted` has the units. Denied with
  // the results of a check of one unit otherwise. REQUIRES: a dedupe id, which a repeat and the return of
  // unused units refer to; no charge with OnDenial::kCharge; a cost of at least 1.
  bool is_lease = false;
  // One of several calls whose caller was promised that they are decided in the order in which they were
  // started. So they all go to the same place, and none is decided by units that a node holds.
  bool in_order = false;
  // Not 0: a refund. Gives back what an allowed call with the same charges, answered with this `now_us`, has
  // charged. `results` still holds its answer (algorithm/refund.h says why); all zero if not known, then less
  // is given back. Charges with OnDenial::kCharge stay, as in any check that is denied in the end.
  // Grant::kAnyTime: gives all units back without knowing when they were charged. A refund is always allowed,
  // and the results have the levels afterwards. With the dedupe id of the charge it removes the record, too,
  // and so counts once; `replayed`: the record is gone or belongs to another request, and nothing was given
  // back. A refund of a lease (is_lease) gives back the cost of the charges, at most what was granted.
  std::int64_t refund_of_us = 0;

  // For the store: it was sent before, on a connection that was lost.
  bool sent_again = false;
  std::uint32_t passed_over = 0;     // bit i: charge i is passed over, because the server is full
  std::int64_t queued_at_us = 0;     // while it waits
  std::uint32_t work = 1;            // for the server, as far as known then; see redis/queue/redis_work.h
  StoreCall* next_queued = nullptr;  // in its flow

  // A store calls this first: calls are reused, and the previous answer must not be read again.
  void forget_answer() { static_cast<StoreAnswer&>(*this) = {}; }

  // The answer is there. Called on the thread that started the call, at most once, and not if start()
  // returned true.
  virtual void on_done() = 0;

 protected:
  ~StoreCall() = default;
};

// Where counters live and are charged: memory, a Redis server, a Cluster. The answer to a call is there at
// once or comes later. Belongs to one event loop's thread, and every loop has its own, unless the store says
// otherwise.
class Store {
 public:
  virtual ~Store() = default;

  // Forgets the call's previous answer. Charges every counter or, if any of them denies, none (except those
  // with OnDenial::kCharge), in one atomic step; if a store spreads a call over several servers and one of
  // them denies, it gives back the charges of the others. If the check is denied, the result of a counter
  // that had room has its unchanged level. A charge that there is no memory for may be passed over, if it
  // says so (Charge::passes_without_room); otherwise the check charges nothing (kNoRoom). True: answered
  // already (in memory always; elsewhere for instance because a breaker is open, kNoAnswer, or a queue is
  // full, kShed). False: on_done() will be called, always. REQUIRES: results.size() == charges.size() <=
  // kLimitsPerCheckMax; keys are distinct.
  virtual bool start(StoreCall& call) = 0;

  // A hint that start() will soon be called for this key. Callers with several checks at hand call it for all
  // of them first: fetching a counter into the cache takes longer than deciding on it.
  virtual void prefetch(const KeyHash& /*key*/) const {}

  // Whether start() always returns true.
  virtual bool answers_at_once() const { return false; }

  // So many calls wait that a caller with calls in flight should not send more. Most stores never say so.
  virtual bool busy() const { return false; }

  // Forgets these counters. `done` gets how many existed, or a negative number for no answer.
  virtual void reset(std::span<const CounterName> counters, std::function<void(int)> done) = 0;

  // Between these two, calls may be collected instead of sent one by one. For callers with many calls at
  // hand.
  virtual void begin_burst() {}
  virtual void end_burst() {}

  // Does what is due: expiry, deadlines, reconnects. Called by the loop about every ten milliseconds, and at
  // next_due_us(), with the process's clock.
  virtual void tick(std::int64_t now_us) = 0;
  // When the next call reaches its deadline; INT64_MAX: none has one.
  virtual std::int64_t next_due_us() const = 0;

  struct Health {
    bool connected = false;             // it can answer now
    std::vector<std::string> problems;  // sentences for /readyz
  };
  virtual Health health() const = 0;

  // Adds what it has done so far, and what it knows about its servers, for the metrics. A store that adds
  // nothing has no metrics.
  virtual void report(StoreReport& /*report*/) const {}
};

}  // namespace sluice

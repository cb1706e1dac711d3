#include "engine/hot/leasing_store.h"

#include <algorithm>
#include <bit>
#include <cassert>
#include <utility>

#include "base/limits/lease_limits.h"
#include "client/leased_key.h"
#include "engine/hot/node_lease_units.h"
#include "store/pressure.h"

namespace sluice {
namespace {

constexpr std::int64_t kPatienceUs = kSecondUs;  // for the answer to a lease, at most
constexpr double kRandomSteps = 1 << 30;

bool are_same(const Charge& a, const Charge& b) {
  return a.key == b.key && a.params == b.params && a.slot_tag == b.slot_tag;
}

std::uint64_t hash_of(std::span<const Charge> charges) {
  std::uint64_t hash = charges.size();
  for (const Charge& charge : charges) hash = std::rotl(hash, 9) ^ charge.key.low ^ charge.params;
  return hash;
}

std::int64_t longest_wait_us(std::span<const ChargeResult> results) {
  std::int64_t wait_us = 0;
  for (const ChargeResult& result : results) {
    if (result.outcome.retry_after_us == kNever) return kNever;
    wait_us = std::max(wait_us, result.outcome.retry_after_us);
  }
  return wait_us;
}

}  // namespace

// A lease, or its return, on its way to the other store.
class LeasingStore::Call final : public StoreCall {
 public:
  explicit Call(std::function<void()> then) : then_(std::move(then)) {}

  void fill(std::span<const Charge> of, std::int64_t cost, const KeyHash& id, std::int64_t answer_by_us) {
    charges_.assign(of.begin(), of.end());
    for (Charge& charge : charges_) {
      charge.cost = cost;
      charge.passes_without_room = false;
    }
    results_.assign(of.size(), {});
    charges = charges_;
    results = results_;
    is_lease = true;
    dedupe = Dedupe{.id = id, .fingerprint = id.high, .ttl_us = kLeaseLifeUs, .slot_tag = of[0].slot_tag};
    deadline_us = answer_by_us;
    without_answer = WithoutAnswer::kDenied;
    is_under_way = true;
  }
  void on_done() override {
    is_under_way = false;
    then_();
  }

  bool is_under_way = false;

 private:
  const std::function<void()> then_;
  std::vector<Charge> charges_;
  std::vector<ChargeResult> results_;
};

// The units of the counters of one kind of check.
struct LeasingStore::Holding {
  // A lease that may be returned, or whose numbers are told.
  struct Lease {
    std::string name;
    KeyHash id;
    std::int64_t granted = 0;
    std::int64_t granted_at_us = 0;  // the store's time
    std::vector<ChargeResult> results;
  };

  Holding(std::span<const Charge> of, std::function<double()> random, std::function<void()> on_answer)
      : charges(of.begin(), of.end()), units(std::move(random)), asking(std::move(on_answer)) {}

  const std::vector<Charge> charges;
  LeasedKey units;
  Call asking;
  std::vector<Lease> leases;  // the latest is the last
  Flow flow;                  // of a check that needed units
  // As long as that check waits for the store: a call with more time than all others would delay the moment
  // when a server that is silent is found to be gone.
  std::int64_t patience_us = kPatienceUs;
  std::int64_t used_at_us = 0;
  std::int64_t answered_at_us = 0;  // the latest lease
  bool is_closed = false;
  bool is_forgotten = false;  // nothing is given back
};

LeasingStore::LeasingStore(std::unique_ptr<Store> store, Parts parts)
    : store_(std::move(store)), parts_(std::move(parts)) {}

LeasingStore::~LeasingStore() = default;

bool LeasingStore::are_promoted(std::span<const Charge> charges) const {
  return std::ranges::all_of(charges,
                             [this](const Charge& charge) { return parts_.hot.is_promoted(charge.key); });
}

bool LeasingStore::takes_part(const StoreCall& call) const {
  if (!parts_.hot.has_promoted() || call.dedupe || call.is_lease || call.refund_of_us != 0 || call.in_order ||
      is_draining())
    return false;
  const auto is_plain = [&](const Charge& charge) {
    return charge.cost == call.charges[0].cost && charge.on_denial == OnDenial::kFree;
  };
  return call.charges[0].cost > 0 && std::ranges::all_of(call.charges, is_plain) &&
         are_promoted(call.charges);
}

LeasingStore::Holding* LeasingStore::holding_of(const StoreCall& call) {
  const std::uint64_t hash = hash_of(call.charges);
  if (const auto found = holdings_.find(hash); found != holdings_.end()) {
    Holding& holding = *found->second;
    return !holding.is_closed && std::ranges::equal(holding.charges, call.charges, are_same) ? &holding
                                                                                             : nullptr;
  }
  if (holdings_.size() == kMax) return nullptr;
  std::unique_ptr<Holding>& place = holdings_[hash];
  place = std::make_unique<Holding>(
      call.charges,
      [this] {
        return static_cast<double>(parts_.random(static_cast<std::uint64_t>(kRandomSteps))) / kRandomSteps;
      },
      [this, &place] { on_lease(*place); });
  return place.get();
}

bool LeasingStore::start(StoreCall& call) {
  if (takes_part(call))
    if (Holding* const holding = holding_of(call); holding && spend(*holding, call)) return true;
  return store_->start(call);
}

bool LeasingStore::spend(Holding& holding, StoreCall& call) {
  const std::int64_t now_us = parts_.clock.now_us();
  holding.used_at_us = now_us;
  const auto [spent, wakes_owner, is_safe] = holding.units.spend(call.charges[0].cost, now_us);
  assert(!is_safe && "a node has no safe capacity");
  if (wakes_owner) {
    holding.flow = call.flow;
    if (call.deadline_us != 0) holding.patience_us = std::min(kPatienceUs, call.deadline_us - now_us);
    refill(holding, now_us);
  }
  if (!spent) return false;
  call.forget_answer();
  call.verdict = Verdict::kAllowed;
  call.from_lease = true;
  call.results_known = call.results.size();
  // What was left when the latest units were leased, and those of them that are not spent.
  const Holding::Lease& latest = holding.leases.back();
  const std::int64_t since_us = now_us - holding.answered_at_us;
  const std::int64_t left = std::min(holding.units.left(), latest.granted);
  call.now_us = latest.granted_at_us + since_us;
  for (std::size_t i = 0; i < call.results.size(); ++i) {
    ChargeResult& result = call.results[i];
    result = latest.results[i];
    result.outcome.remaining += left;
    result.outcome.reset_after_us = std::max<std::int64_t>(result.outcome.reset_after_us - since_us, 0);
    // A lease that took the last units throttles nobody who spends them.
    result.pressure = pressure_of(result.outcome.remaining, result.pressure != Pressure::kNormal);
    result.denied_cost = 0;  // this is an admission
  }
  return true;
}

void LeasingStore::refill(Holding& holding, std::int64_t now_us) {
  if (const std::int64_t want = holding.units.want(now_us)) ask(holding, want, now_us);
  give_back(holding);
}

void LeasingStore::ask(Holding& holding, std::int64_t want, std::int64_t now_us) {
  Call& call = holding.asking;
  call.fill(holding.charges, want, random_id(), now_us + holding.patience_us);
  call.flow = holding.flow;
  if (store_->start(call)) call.on_done();
}

void LeasingStore::on_lease(Holding& holding) {
  const Call& call = holding.asking;
  const std::int64_t now_us = parts_.clock.now_us();
  if (!is_answer(call.verdict)) return holding.units.on_unreachable(now_us);
  LeaseAnswer answer{.expires_after_us = kLeaseLifeUs, .refresh_after_us = kRefreshUs};
  if (call.verdict == Verdict::kDenied || call.results_known != holding.charges.size()) {
    answer.retry_after_us = longest_wait_us(call.results);
    return holding.units.on_answer(answer, now_us);
  }
  answer.lease_id = std::to_string(++leases_);
  answer.granted = call.granted;
  holding.leases.push_back({.name = answer.lease_id,
                            .id = call.dedupe->id,
                            .granted = call.granted,
                            .granted_at_us = call.now_us,
                            .results = {call.results.begin(), call.results.end()}});
  holding.answered_at_us = now_us;
  holding.units.on_answer(answer, now_us);
  std::erase_if(holding.leases, [&](const Holding::Lease& lease) {
    return lease.name != answer.lease_id && !holding.units.holds(lease.name);
  });
}

// Returns what the machine says was never spent.
void LeasingStore::give_back(Holding& holding) {
  while (const auto unused = holding.units.take_unused()) {
    const auto lease = std::ranges::find(holding.leases, unused->lease_id, &Holding::Lease::name);
    if (lease == holding.leases.end() || holding.is_forgotten) continue;
    Call& call = *returns_.emplace_back(std::make_unique<Call>([] {}));
    call.fill(holding.charges, unused->units, lease->id, parts_.clock.now_us() + holding.patience_us);
    std::ranges::copy(lease->results, call.results.begin());
    call.refund_of_us = lease->granted_at_us;
    call.flow = holding.flow;
    if (store_->start(call)) call.on_done();
  }
}

void LeasingStore::close(Holding& holding, std::int64_t now_us) {
  holding.is_closed = true;
  holding.units.close(now_us);
}

void LeasingStore::reset(std::span<const CounterName> counters, std::function<void(int)> done) {
  for (const auto& [hash, holding] : holdings_) {
    const auto is_reset = [&](const Charge& charge) {
      return std::ranges::find(counters, charge.key, &CounterName::key) != counters.end();
    };
    if (std::ranges::none_of(holding->charges, is_reset)) continue;
    holding->is_forgotten = true;
    close(*holding, parts_.clock.now_us());
  }
  store_->reset(counters, std::move(done));
}

void LeasingStore::tick(std::int64_t now_us) {
  store_->tick(now_us);
  for (const auto& [hash, holding] : holdings_) {
    const bool is_over =
        now_us - holding->used_at_us > kIdleUs || is_draining() || !are_promoted(holding->charges);
    if (!holding->is_closed && is_over) close(*holding, now_us);
    if (!holding->is_closed && now_us >= holding->units.next_due_us()) refill(*holding, now_us);
    give_back(*holding);
  }
  std::erase_if(holdings_, [](const auto& entry) {
    return entry.second->is_closed && !entry.second->asking.is_under_way;
  });
  std::erase_if(returns_, [](const auto& call) { return !call->is_under_way; });
}

std::size_t LeasingStore::leases() const {
  std::size_t leases = 0;
  for (const auto& [hash, holding] : holdings_) leases += holding->leases.size();
  return leases;
}

void LeasingStore::report(StoreReport& report) const {
  store_->report(report);
  std::int64_t most = 0;
  for (const auto& [hash, holding] : holdings_) most = std::max(most, holding->units.left());
  add_node_lease_units(report, most);
}

KeyHash LeasingStore::random_id() {
  const auto part = [this] { return parts_.random(UINT64_MAX); };
  return {part(), part()};
}

}  // namespace sluice

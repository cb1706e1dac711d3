#include "engine/hot/sparing_store.h"

#include <algorithm>
#include <bit>
#include <utility>

#include "engine/hot/node_lease_units.h"
#include "store/pressure.h"

namespace sluice {
namespace {

constexpr std::int64_t kReturnPatienceUs = kSecondUs;  // at most

// Names exactly these counters with exactly these numbers.
KeyHash spare_id_of(std::span<const Charge> charges) {
  constexpr std::uint64_t kOdd = 0x9e3779b97f4a7c15;
  KeyHash id{.high = charges.size(), .low = 0};
  for (const Charge& charge : charges) {
    id.high = std::rotl(id.high, 9) ^ charge.key.high;
    id.low = std::rotl(id.low, 9) ^ charge.key.low ^
             ((std::uint64_t{charge.slot_tag} << 32 | charge.params) * kOdd);
  }
  return id;
}

}  // namespace

// A check that takes units along, then what is known of these units, and in the end their return.
class SpareCall final : public StoreCall {
 public:
  explicit SpareCall(SparingStore& store) : store_(store) {}

  void fill(StoreCall& of, const KeyHash& name, std::int64_t units, std::int64_t at_us) {
    id = name;
    check = &of;
    extra = units;
    is_forgotten = false;
    patience_us = kReturnPatienceUs;
    if (of.deadline_us != 0) patience_us = std::min(patience_us, of.deadline_us - at_us);
    charges_.assign(of.charges.begin(), of.charges.end());
    results_.assign(of.charges.size(), {});
    for (Charge& charge : charges_) {
      charge.cost += units;
      charge.passes_without_room = false;
    }
    charges = charges_;
    results = results_;
    deadline_us = of.deadline_us;
    caller_deadline_us = of.caller_deadline_us;
    flow = of.flow;
    without_answer = of.without_answer;
    refund_of_us = 0;
  }
  // REQUIRES: it was allowed
  void fill_return(std::int64_t units, std::int64_t at_us) {
    for (Charge& charge : charges_) charge.cost = units;
    refund_of_us = granted_at_us;
    deadline_us = at_us + patience_us;
    caller_deadline_us = 0;
    without_answer = WithoutAnswer::kDenied;
  }
  void on_done() override {
    if (check == nullptr) return on_returned();
    StoreCall& answered = *check;
    if (store_.conclude(*this)) answered.on_done();
  }
  void on_returned() {
    --store_.returns_;
    store_.release(*this);
  }

  // An admission by these units, while `left` of them are left: the levels are those of the moment when they
  // were charged.
  void tell(StoreCall& to, std::int64_t left, std::int64_t at_us) const {
    const std::int64_t since_us = at_us - answered_at_us;
    to.forget_answer();
    to.verdict = Verdict::kAllowed;
    to.results_known = to.results.size();
    to.now_us = granted_at_us + since_us;
    for (std::size_t i = 0; i < to.results.size(); ++i) {
      ChargeResult& result = to.results[i];
      result = results_[i];
      result.outcome.remaining += left;
      result.outcome.reset_after_us = std::max<std::int64_t>(result.outcome.reset_after_us - since_us, 0);
      // A call that took the last units throttles nobody who spends them.
      result.pressure = pressure_of(result.outcome.remaining, result.pressure != Pressure::kNormal);
    }
  }

  KeyHash id;
  StoreCall* check = nullptr;       // not null: it waits for the answer to this call
  std::int64_t extra = 0;           // units beyond the cost of the check
  std::int64_t granted_at_us = 0;   // the store's time
  std::int64_t answered_at_us = 0;  // ours
  std::int64_t patience_us = 0;     // for a return: no more than the check had
  bool is_forgotten = false;        // the counters were reset meanwhile

 private:
  SparingStore& store_;
  std::vector<Charge> charges_;
  std::vector<ChargeResult> results_;
};

SparingStore::SparingStore(std::unique_ptr<Store> store, const Parts& parts)
    : store_(std::move(store)), parts_(parts), random_(parts.seed) {}

SparingStore::~SparingStore() = default;

bool SparingStore::takes_part(const StoreCall& call) const {
  const auto is_plain = [&](const Charge& charge) {
    return charge.cost == call.charges[0].cost && charge.on_denial == OnDenial::kFree;
  };
  return !call.dedupe && !call.is_lease && call.refund_of_us == 0 && !call.in_order &&
         call.charges[0].cost > 0 && std::ranges::all_of(call.charges, is_plain) && !is_draining();
}

// The units that a loop may hold of these counters.
std::int64_t SparingStore::most_for(const StoreCall& call) const {
  std::int64_t most = kCostMax - call.charges[0].cost;
  for (const Charge& charge : call.charges) {
    const LimitParams& params = parts_.params[charge.params];
    if (params.algorithm == Algorithm::kLeakyBucket) return 0;
    most = std::min(most, params.capacity / kPartOfCapacity);
  }
  return most;
}

bool SparingStore::start(StoreCall& call) {
  if (!takes_part(call)) return store_->start(call);
  const KeyHash id = spare_id_of(call.charges);
  const std::int64_t now_us = parts_.clock.now_us();
  Place* const place = places_.find(id);
  if (place == nullptr) {
    Place dislodged;
    places_.note(id, now_us, random_, dislodged);
    end(dislodged, now_us);
    return store_->start(call);
  }
  ++place->checks;
  if (spend(*place, call, now_us)) return true;
  const std::int64_t cost = call.charges[0].cost;
  if (const std::int64_t extra = place->want(cost, most_for(call), now_us))
    return ask(*place, call, extra, now_us);
  return store_->start(call);
}

bool SparingStore::spend(Place& place, StoreCall& call, std::int64_t now_us) {
  const std::int64_t cost = call.charges[0].cost;
  if (place.grant == nullptr) return false;
  if (now_us >= place.ends_us) {
    end(place, now_us);
    return false;
  }
  if (place.units < cost) return false;
  place.units -= cost;
  place.grant->tell(call, place.units, now_us);
  call.from_lease = true;
  if (place.units == 0) release(*std::exchange(place.grant, nullptr));
  return true;
}

bool SparingStore::ask(Place& place, StoreCall& call, std::int64_t extra, std::int64_t now_us) {
  SpareCall& spare = take_call();
  spare.fill(call, place.id, extra, now_us);
  place.is_asking = true;
  return store_->start(spare) && conclude(spare);
}

bool SparingStore::conclude(SpareCall& spare) {
  const std::int64_t now_us = parts_.clock.now_us();
  StoreCall& check = *std::exchange(spare.check, nullptr);
  Place* const place = places_.find(spare.id);
  if (place) place->is_asking = false;
  if (spare.verdict == Verdict::kAllowed && spare.results_known == spare.charges.size()) {
    spare.granted_at_us = spare.now_us;
    spare.answered_at_us = now_us;
    spare.tell(check, spare.extra, now_us);
    hold(spare, now_us);
    return true;
  }
  if (place) place->pause(now_us);
  if (is_answer(spare.verdict) || spare.verdict == Verdict::kNoRoom) {  // it may fit alone
    release(spare);
    return store_->start(check);
  }
  static_cast<StoreAnswer&>(check) = static_cast<const StoreAnswer&>(spare);
  std::ranges::copy(spare.results, check.results.begin());
  release(spare);
  return true;
}

void SparingStore::hold(SpareCall& spare, std::int64_t now_us) {
  Place* const place = places_.find(spare.id);
  if (place == nullptr || is_draining()) return give_back(spare, spare.extra, now_us);
  end(*place, now_us);  // what was too little for the check
  std::int64_t rest = kCostMax;
  for (const ChargeResult& result : spare.results) rest = std::min(rest, result.outcome.remaining);
  place->size = static_cast<std::uint32_t>(std::min<std::int64_t>(place->size, rest / kPartOfRest));
  if (place->size == 0) place->pause(now_us);
  place->grant = &spare;
  place->units = spare.extra;
  note_held(place->units);
  place->ends_us = now_us + SparePlaces::kLifeUs;
  if (spare.is_forgotten) {
    release(*std::exchange(place->grant, nullptr));
    place->units = 0;
  }
}

void SparingStore::end(Place& place, std::int64_t now_us) {
  if (place.grant == nullptr) return;
  place.note_unspent(place.units);
  give_back(*std::exchange(place.grant, nullptr), std::exchange(place.units, 0), now_us);
}

void SparingStore::give_back(SpareCall& spare, std::int64_t units, std::int64_t now_us) {
  if (units == 0 || spare.is_forgotten || returns_ >= kReturnsMax) return release(spare);
  spare.fill_return(units, now_us);
  ++returns_;
  if (store_->start(spare)) spare.on_returned();
}

void SparingStore::reset(std::span<const CounterName> counters, std::function<void(int)> done) {
  const auto is_reset = [&](const SpareCall& spare) {
    return std::ranges::any_of(spare.charges, [&](const Charge& charge) {
      return std::ranges::find(counters, charge.key, &CounterName::key) != counters.end();
    });
  };
  for (const auto& spare : calls_) spare->is_forgotten |= is_reset(*spare);
  for (Place& place : places_.all())
    if (place.grant && place.grant->is_forgotten) end(place, parts_.clock.now_us());
  store_->reset(counters, std::move(done));
}

void SparingStore::tick(std::int64_t now_us) {
  store_->tick(now_us);
  const bool ends_all = is_draining();
  const std::span<Place> part = ends_all ? places_.all() : places_.sweep(now_us);
  const bool is_first = !part.empty() && part.data() == places_.all().data();
  if (is_first) most_held_before_ = std::exchange(most_held_, 0);
  for (Place& place : part) {
    if (ends_all || now_us >= place.ends_us) end(place, now_us);
    note_held(place.units);
  }
}

void SparingStore::report(StoreReport& report) const {
  store_->report(report);
  add_node_lease_units(report, std::max(most_held_, most_held_before_));
}

SpareCall& SparingStore::take_call() {
  if (free_.empty()) free_.push_back(calls_.emplace_back(std::make_unique<SpareCall>(*this)).get());
  SpareCall& spare = *free_.back();
  free_.pop_back();
  return spare;
}

}  // namespace sluice

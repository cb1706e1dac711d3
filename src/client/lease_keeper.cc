#include "client/lease_keeper.h"

#include <algorithm>

#include "client/lease_answers.h"
#include "client/lease_terms.h"

namespace sluice {
namespace {

constexpr std::size_t kNoPlace = LeaseTable::kPlaces;

}  // namespace

struct LeaseKeeper::Key {
  Key(LeaseBucket& bucket, std::function<double()> random, SizeRule rule, double expected)
      : lease(bucket, std::move(random), rule, expected) {}

  // It holds nothing, waits for nothing, and is used too seldom to be leased again.
  bool is_worthless(std::int64_t now_us) {
    lease.observe(now_us);
    return waiting.empty() && lease.is_idle(now_us) && lease.is_slow(now_us);
  }

  LeasedKey lease;
  std::string subject;
  std::string request_id;  // of the last request for units
  std::vector<WaitingCheck> waiting;
  std::int64_t refused_until_us = 0;
  std::int64_t due_us = INT64_MAX;
};

LeaseKeeper::LeaseKeeper(LeaseTable& table, Server& server, Options options, std::function<double()> random)
    : table_(table),
      server_(server),
      options_(std::move(options)),
      random_(std::move(random)),
      keys_(LeaseTable::kPlaces) {}

LeaseKeeper::~LeaseKeeper() = default;

void LeaseKeeper::check(WaitingCheck check, std::int64_t now_us) {
  if (is_closed_) return check.done(closed_answer());
  const std::int64_t cost = check.cost.value_or(1);
  const bool is_leasable = options_.leases && check.request_id.empty() && cost > 0 && cost <= LeaseSize::kMax;
  if (is_leasable) {
    std::size_t place = kNoPlace;
    if (const auto found = table_.find(check.hash))
      place = found.place;
    else if (frequent_.note(check.hash, now_us))
      place = find_or_insert(check.hash, check.subject, FrequentKeys::kChecks, now_us);
    if (place != kNoPlace) return check_leased(place, std::move(check), now_us);
  }
  server_.check(std::move(check));
}

void LeaseKeeper::check_leased(std::size_t place, WaitingCheck check, std::int64_t now_us) {
  Key& key = *keys_[place];
  if (now_us < key.refused_until_us) return server_.check(std::move(check));
  const LeaseTable::Found found = at(place);
  const auto decide = [&] {
    Answer answer;
    const bool is_decided =
        decide_here(table_, found, check.cost, now_us, options_.allows_unreachable, answer).is_decided;
    if (is_decided) check.done(answer);
    return is_decided;
  };
  if (table_.terms(found) == nullptr) note_demand(place, now_us);
  const bool is_decided = decide();
  ask(place, now_us);  // also for the units that this check has taken, or found missing
  if (is_decided || keys_[place] == nullptr) {
    if (!is_decided) server_.check(std::move(check));
    return;
  }
  if (!key.lease.is_asking() && decide()) return;  // a safe capacity
  if (!key.lease.is_asking() || key.waiting.size() >= kWaitingPerKeyMax)
    return server_.check(std::move(check));
  key.waiting.push_back(std::move(check));
}

// Asks for units if it is time. May remove the key, if it is not worth a lease.
void LeaseKeeper::ask(std::size_t place, std::int64_t now_us) {
  Key& key = *keys_[place];
  if (now_us < key.refused_until_us) {  // it may still hold units, which expire
    key.lease.pass_time(now_us);
    return settle(place);
  }
  if (key.is_worthless(now_us)) return remove(place, now_us);
  if (const std::int64_t want = key.lease.want(now_us)) {
    if (!key.lease.asks_again()) key.request_id = options_.holder + std::to_string(++requests_);
    server_.lease({place, table_.bucket(place).generation()}, key.subject, want, key.request_id);
  }
  settle(place);
}

LeaseTable::Found LeaseKeeper::at(std::size_t place) const {
  return {place, &table_.bucket(place), table_.bucket(place).generation()};
}

// Somebody wants units of a key that has none yet.
void LeaseKeeper::note_demand(std::size_t place, std::int64_t now_us) {
  table_.bucket(place).spend(1, now_us, table_.bucket(place).generation());
}

void LeaseKeeper::refill(std::size_t place, std::int64_t now_us) {
  if (keys_[place] && !is_closed_) ask(place, now_us);
}

LeaseKeeper::Key* LeaseKeeper::key_of(const LeaseName& name) const {
  const bool is_there = keys_[name.place] && table_.bucket(name.place).generation() == name.generation;
  return is_there ? keys_[name.place].get() : nullptr;
}

void LeaseKeeper::on_lease(const LeaseName& name, const LeaseAnswer& answer, const LeaseTerms* terms,
                           std::int64_t now_us) {
  Key* key = key_of(name);
  if (key == nullptr) {
    if (options_.returns_unused && answer.granted > 0) server_.give_back(answer.lease_id, answer.granted);
    return;
  }
  table_.set_terms(name.place, terms);
  key->lease.on_answer(answer, now_us);
  answer_waiting(name.place, now_us);
}

void LeaseKeeper::on_no_answer(const LeaseName& name, std::int64_t now_us) {
  Key* key = key_of(name);
  if (key == nullptr) return;
  key->lease.on_unreachable(now_us);
  answer_waiting(name.place, now_us);
}

void LeaseKeeper::on_refused(const LeaseName& name, std::int64_t now_us) {
  Key* key = key_of(name);
  if (key == nullptr) return;
  key->lease.on_answer({.granted = 0, .retry_after_us = 0}, now_us);
  table_.bucket(name.place).deny_until(0);
  key->refused_until_us = now_us + kRefusalUs;
  answer_waiting(name.place, now_us);
}

// Those who waited for units try again; whoever still finds too few asks the server.
void LeaseKeeper::answer_waiting(std::size_t place, std::int64_t now_us) {
  std::vector<WaitingCheck> waiting = std::exchange(keys_[place]->waiting, {});
  const bool is_refused = now_us < keys_[place]->refused_until_us;
  const LeaseTable::Found found = at(place);
  for (WaitingCheck& check : waiting) {
    Answer answer;
    const auto decide = [&] {
      return decide_here(table_, found, check.cost, now_us, options_.allows_unreachable, answer);
    };
    DecidedHere decided;
    if (!is_refused) decided = decide();
    if (!decided.is_decided && decided.wakes_owner && found.bucket->is_gone()) {
      keys_[place]->lease.use_safe_capacity(now_us);
      decided = decide();
    }
    if (decided.is_decided)
      check.done(answer);
    else
      server_.check(std::move(check));
  }
  if (keys_[place] && !is_closed_) ask(place, now_us);
  if (keys_[place]) settle(place);
}

void LeaseKeeper::settle(std::size_t place) {
  Key& key = *keys_[place];
  while (const auto unused = key.lease.take_unused())
    if (options_.returns_unused) server_.give_back(unused->lease_id, unused->units);
  const std::int64_t due_us = key.lease.next_due_us();
  if (due_us == key.due_us) return;
  if (key.due_us != INT64_MAX) due_.erase({key.due_us, place});
  if (due_us != INT64_MAX) due_.emplace(due_us, place);
  key.due_us = due_us;
}

void LeaseKeeper::run_due(std::int64_t now_us) {
  while (!due_.empty() && due_.begin()->first <= now_us) {
    const auto [due_us, place] = *due_.begin();
    due_.erase(due_.begin());
    keys_[place]->due_us = INT64_MAX;
    ask(place, now_us);
  }
}

void LeaseKeeper::on_advice(const KeyHash& hash, std::string_view subject, std::int64_t now_us) {
  if (!options_.leases || is_closed_ || table_.find(hash)) return;
  const std::size_t place = find_or_insert(hash, subject, FrequentKeys::kChecks, now_us);
  if (place == kNoPlace) return;
  note_demand(place, now_us);
  ask(place, now_us);
}

void LeaseKeeper::on_reachable(std::int64_t now_us) {
  for (std::size_t place = 0; place < keys_.size(); ++place) {
    if (!keys_[place] || !table_.bucket(place).is_gone()) continue;
    keys_[place]->lease.on_reachable();
    ask(place, now_us);
  }
}

std::size_t LeaseKeeper::find_or_insert(const KeyHash& hash, std::string_view subject, double expected,
                                        std::int64_t now_us) {
  auto place = table_.insert(hash);
  if (!place && make_room(hash, now_us)) place = table_.insert(hash);
  if (!place) return kNoPlace;
  keys_[*place] = std::make_unique<Key>(table_.bucket(*place), random_, options_.rule, expected);
  keys_[*place]->subject = subject;
  ++keys_in_use_;
  return *place;
}

bool LeaseKeeper::make_room(const KeyHash& hash, std::int64_t now_us) {
  const std::size_t first = LeaseTable::first_of(hash);
  for (std::size_t place = first; place < first + LeaseTable::kWays; ++place) {
    LeasedKey& lease = keys_[place]->lease;
    lease.observe(now_us);
    if (!lease.is_idle(now_us) || !keys_[place]->waiting.empty()) continue;
    remove(place, now_us);
    return true;
  }
  return false;
}

void LeaseKeeper::remove(std::size_t place, std::int64_t now_us) {
  Key& key = *keys_[place];
  key.lease.close(now_us);
  settle(place);
  keys_[place] = nullptr;
  --keys_in_use_;
  table_.erase(place);
}

void LeaseKeeper::forget(const KeyHash& hash, std::int64_t now_us) {
  const auto found = table_.find(hash);
  if (!found) return;
  Key& key = *keys_[found.place];
  key.lease.close(now_us);
  while (key.lease.take_unused()) {  // they count under limits that are about to be forgotten
  }
  std::vector<WaitingCheck> waiting = std::exchange(key.waiting, {});
  remove(found.place, now_us);
  for (WaitingCheck& check : waiting) server_.check(std::move(check));
}

void LeaseKeeper::close(std::int64_t now_us) {
  is_closed_ = true;
  for (std::size_t place = 0; place < keys_.size(); ++place) {
    if (!keys_[place]) continue;
    keys_[place]->lease.close(now_us);
    table_.bucket(place).deny_until(0);  // whoever finds nothing asks, and is told that this is closed
    table_.bucket(place).set_gone(false);
    for (const WaitingCheck& check : std::exchange(keys_[place]->waiting, {})) check.done(closed_answer());
    settle(place);
  }
}

}  // namespace sluice

#include "store/shard.h"

#include <algorithm>
#include <memory>
#include <utility>

#include "algorithm/migrate.h"

namespace sluice {
namespace {

std::uint64_t bytes_of(const Log& log) { return sizeof(Log) + log.capacity() * sizeof(LogEntry); }

// Each insertion pays for the expiry of this many slots, several insertions at once: slots side by side come
// cheaper.
constexpr std::uint32_t kExpiryBatch = 32, kInsertionsPerExpiry = 8;

}  // namespace

Shard::~Shard() {
  for (std::uint32_t i = 0; logs_ > 0; ++i)
    if (Slot& slot = table_.at(i); !slot.empty() && is_log(slot)) drop_log(slot);
}

void Shard::open(PagePool& pool, ByteBudget& budget, const ParamsTable& params,
                 std::atomic<std::uint32_t>* directory, std::uint32_t pages_max) {
  table_.open(pool, directory, pages_max);
  params_ = &params;
  budget_ = &budget;
}

void Shard::insert(const KeyHash& key, ParamsId params, const State& state, bool warned,
                   std::int64_t now_us) {
  insert_slot(key, now_us).set_state(params, (*params_)[params].algorithm, state, warned);
  if (table_.count() % kInsertionsPerExpiry == 0) expire(kExpiryBatch, now_us);
}

void Shard::insert(const KeyHash& key, ParamsId params, Log log, bool warned, std::int64_t now_us) {
  own_log(insert_slot(key, now_us), params, std::move(log), warned);
  if (table_.count() % kInsertionsPerExpiry == 0) expire(kExpiryBatch, now_us);
}

Slot& Shard::insert_slot(const KeyHash& key, std::int64_t now_us) {
  if (!table_.has_room()) [[unlikely]]
    make_room(now_us);
  newest_ = key;
  return *table_.insert(key);
}

void Shard::make_room(std::int64_t now_us) {
  if (table_.grow()) return;
  while (!table_.has_room()) evict(now_us);
}

void Shard::own_log(Slot& slot, ParamsId params, Log log, bool warned) {
  auto owned = std::make_unique<Log>(std::move(log));
  budget_->take(bytes_of(*owned));
  log_bytes_ += bytes_of(*owned);
  note_log_growth(slot.key());
  ++logs_;
  slot.set_log(params, owned.release(), warned);
}

void Shard::drop_log(Slot& slot) {
  const std::unique_ptr<Log> owned(slot.log());
  budget_->give_back(bytes_of(*owned));
  log_bytes_ -= bytes_of(*owned);
  --logs_;
}

Outcome Shard::step_log(Slot& slot, std::int64_t now_us, std::int64_t cost, OnDenial on_denial) {
  Log& log = *slot.log();
  const std::uint64_t bytes_before = bytes_of(log);
  const Outcome outcome = step((*params_)[slot.params_id()], log, now_us, cost, on_denial);
  const std::uint64_t bytes_after = bytes_of(log);
  if (bytes_after != bytes_before) {
    budget_->take(bytes_after);
    budget_->give_back(bytes_before);
    log_bytes_ += bytes_after - bytes_before;
    note_log_growth(slot.key());
  }
  return outcome;
}

void Shard::note_log_growth(const KeyHash& key) {
  log_grew_ = true;
  if (key == grown_last_) return;
  grown_before_ = std::exchange(grown_last_, key);
}

void Shard::migrate_slot(Slot& slot, ParamsId params, std::int64_t now_us) {
  const LimitParams& from = (*params_)[slot.params_id()];
  const LimitParams& to = (*params_)[params];
  const bool warned = slot.warned() && to.on_change != OnChange::kReset;
  const bool from_log = is_log(slot), to_log = to.algorithm == Algorithm::kSlidingLog;
  if (from_log && to_log) {
    migrate_log(from, to, *slot.log(), now_us);
    slot.set_log(params, slot.log(), warned);
  } else if (from_log) {
    const State state = migrate_from_log(from, to, *slot.log(), now_us);
    drop_log(slot);
    slot.set_state(params, to.algorithm, state, warned);
  } else if (to_log) {
    own_log(slot, params, migrate_to_log(from, to, slot.state(from.algorithm), now_us), warned);
  } else {
    slot.set_state(params, to.algorithm, migrate(from, to, slot.state(from.algorithm), now_us), warned);
  }
}

bool Shard::is_fresh_slot(const Slot& slot, std::int64_t now_us) const {
  const LimitParams& params = (*params_)[slot.params_id()];
  return params.algorithm == Algorithm::kSlidingLog ? is_fresh(params, *slot.log(), now_us)
                                                    : is_fresh(params, slot.state(params.algorithm), now_us);
}

bool Shard::erase(const KeyHash& key) {
  if (table_.find(key) == nullptr) return false;
  erase_at(table_.index_of(key));
  return true;
}

void Shard::erase_at(std::uint32_t index) {
  Slot& slot = table_.at(index);
  if (is_log(slot)) drop_log(slot);
  table_.erase(index);
}

bool Shard::expire(std::uint32_t slots, std::int64_t now_us) {
  if (cursor_ >= table_.slots()) cursor_ = 0;
  const std::uint32_t end = std::min(cursor_ + slots, table_.slots());
  while (cursor_ < end) {
    const Slot& slot = table_.at(cursor_);
    if (slot.empty() || !is_fresh_slot(slot, now_us)) {
      ++cursor_;
      continue;
    }
    erase_at(cursor_);  // and look at the same index again: another may have moved there
    ++expired_;
  }
  return cursor_ == table_.slots();
}

void Shard::add_to(Store::Stats& stats) const {
  stats.keys += table_.count();
  stats.expired += expired_;
  stats.evicted_idle += evicted_idle_;
  stats.evicted_in_use += evicted_in_use_;
  stats.evicted_over_limit += evicted_over_limit_;
}

}  // namespace sluice

#include "store/memory/table/shard.h"

#include <algorithm>
#include <cassert>
#include <memory>
#include <utility>

namespace sluice {
namespace {

std::uint64_t bytes_of(const Log& log) { return sizeof(Log) + log.capacity() * sizeof(LogEntry); }

// Every kInsertionsPerExpiry-th insertion looks for expired counters in kExpiryBatch slots: adjacent slots
// are cheaper.
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

bool Shard::insert(const KeyHash& key, ParamsId params, const State& state, bool warned,
                   std::int64_t now_us) {
  if (!table_.has_room(1) && !make_room(1, now_us)) [[unlikely]]
    return false;
  insert_slot(key).set_state(params, (*params_)[params].algorithm, state, warned);
  if (table_.count() % kInsertionsPerExpiry == 0) expire(kExpiryBatch, now_us);
  return true;
}

bool Shard::insert(const KeyHash& key, ParamsId params, Log log, bool warned, std::int64_t now_us) {
  if (!table_.has_room(1) && !make_room(1, now_us)) [[unlikely]]
    return false;
  own_log(insert_slot(key), params, std::move(log), warned);
  if (table_.count() % kInsertionsPerExpiry == 0) expire(kExpiryBatch, now_us);
  return true;
}

Slot& Shard::insert_slot(const KeyHash& key) {
  note_sooner_idle();
  return *table_.insert(key);
}

void Shard::own_log(Slot& slot, ParamsId params, Log log, bool warned) {
  auto owned = std::make_unique<Log>(std::move(log));
  budget_->take(bytes_of(*owned));
  ++logs_;
  slot.set_log(params, owned.release(), warned);
}

void Shard::drop_log(Slot& slot) {
  const std::unique_ptr<Log> owned(slot.log());
  budget_->give_back(bytes_of(*owned));
  --logs_;
}

Outcome Shard::step_log(Slot& slot, std::int64_t now_us, std::int64_t cost, OnDenial on_denial) {
  Log& log = *slot.log();
  [[maybe_unused]] const std::size_t capacity = log.capacity();
  const Outcome outcome = step((*params_)[slot.params_id()], log, now_us, cost, on_denial);
  assert(log.capacity() == capacity);
  return outcome;
}

bool Shard::reserve_log(Slot& slot, std::int64_t now_us) {
  Log& log = *slot.log();
  const bool joins_the_last = !log.empty() && log.back().at_us >= now_us;
  if (log.size() < log.capacity() || joins_the_last) return true;
  // A charged denial briefly has one entry more than the limit has units, until the oldest is dropped.
  const auto most = static_cast<std::size_t>((*params_)[slot.params_id()].capacity) + 1;
  const std::size_t wanted = std::max(std::min(2 * log.capacity(), most), log.capacity() + 1);
  if (!budget_->try_take((wanted - log.capacity()) * sizeof(LogEntry))) return false;
  log.reserve(wanted);
  return true;
}

bool Shard::has_memory_for_log() const { return budget_->has_room(sizeof(Log) + sizeof(LogEntry)); }

Kept Shard::kept(const Slot& slot) const {
  if (is_log(slot)) return {.log = *slot.log()};
  return {.state = slot.state((*params_)[slot.params_id()].algorithm)};
}

void Shard::replace(Slot& slot, ParamsId params, Kept kept, bool warned) {
  note_sooner_idle();
  if (is_log(slot)) drop_log(slot);
  const Algorithm algorithm = (*params_)[params].algorithm;
  if (algorithm == Algorithm::kSlidingLog)
    own_log(slot, params, std::move(kept.log), warned);
  else
    slot.set_state(params, algorithm, kept.state, warned);
}

bool Shard::is_unused(const Slot& slot, std::int64_t now_us, Unused unused) const {
  const LimitParams& params = (*params_)[slot.params_id()];
  if (params.algorithm == Algorithm::kSlidingLog) return is_fresh(params, *slot.log(), now_us);
  State state = slot.state(params.algorithm);
  if (unused == Unused::kIdle && params.algorithm == Algorithm::kLeakyBucket) state.second = 0;
  return is_fresh(params, state, now_us);
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
  expired_ += sweep(slots, now_us, Unused::kFresh);
  return cursor_ == table_.slots();
}

// Forgets unused counters among the next `slots` slots, up to the end of the table. Returns how many.
std::uint32_t Shard::sweep(std::uint32_t slots, std::int64_t now_us, Unused unused) {
  if (cursor_ >= table_.slots()) cursor_ = 0;
  const std::uint32_t end = cursor_ + std::min(slots, table_.slots() - cursor_);
  std::uint32_t forgotten = 0;
  while (cursor_ < end) {
    const Slot& slot = table_.at(cursor_);
    if (slot.empty() || !is_unused(slot, now_us, unused)) {
      ++cursor_;
      continue;
    }
    erase_at(cursor_);  // and look at the same index again: another slot may have moved there
    ++forgotten;
  }
  return forgotten;
}

void Shard::add_to(Counters::Stats& stats) const {
  stats.keys += table_.count();
  stats.expired += expired_;
  stats.evicted_idle += evicted_idle_;
}

}  // namespace sluice

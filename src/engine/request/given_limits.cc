#include "engine/request/given_limits.h"

#include <array>
#include <random>

#include "base/try.h"

namespace sluice {
namespace {

constexpr std::size_t kSlotsAtFirst = 64;

std::uint64_t random_seed() {
  std::random_device random;
  return (std::uint64_t{random()} << 32) | random();
}

}  // namespace

GivenLimits::Table::Table(std::size_t slot_count)
    : mask(slot_count - 1), slots(std::make_unique<std::atomic<const Known*>[]>(slot_count)) {}

std::atomic<const GivenLimits::Known*>& GivenLimits::Table::slot_of(const GivenLimit& limit,
                                                                    std::uint64_t hash) const {
  for (std::size_t i = hash & mask;; i = (i + 1) & mask)
    if (const Known* const known = slots[i].load(std::memory_order_acquire); !known || known->limit == limit)
      return slots[i];
}

GivenLimits::GivenLimits(ParamsTable& params, GivenLimitsBounds bounds)
    : params_(params), bounds_(bounds), seed_(random_seed()) {
  tables_.push_back(std::make_unique<const Table>(kSlotsAtFirst));
  table_.store(tables_.back().get(), std::memory_order_release);
}

std::uint64_t GivenLimits::hash_of(const GivenLimit& limit) const {
  const std::array numbers = {static_cast<std::int64_t>(limit.algorithm), limit.rate.count,
                              limit.rate.period_us, limit.burst.value_or(-1)};
  return hash_text({reinterpret_cast<const char*>(numbers.data()), sizeof numbers}, seed_);
}

std::optional<GivenNumbers> GivenLimits::find(const GivenLimit& limit) const {
  const Table& table = *table_.load(std::memory_order_acquire);
  const Known* const known = table.slot_of(limit, hash_of(limit)).load(std::memory_order_acquire);
  // A slot that was empty a moment ago may have been filled meanwhile, with another limit.
  if (!known || known->limit != limit) return std::nullopt;
  return numbers(known->params);
}

bool GivenLimits::has_room(std::size_t brought) const {
  const std::size_t by_others = known_.size() - brought;
  return brought < (bounds_.distinct_max - by_others) / bounds_.share;
}

void GivenLimits::insert(const GivenLimit& limit, ParamsId id) {
  known_.push_back({limit, id});
  const Table* table = tables_.back().get();
  if (known_.size() * 2 > table->mask + 1) {
    table = tables_.emplace_back(std::make_unique<const Table>(2 * (table->mask + 1))).get();
    for (const Known& each : known_)
      table->slot_of(each.limit, hash_of(each.limit)).store(&each, std::memory_order_relaxed);
    table_.store(table, std::memory_order_release);
  } else {
    table->slot_of(limit, hash_of(limit)).store(&known_.back(), std::memory_order_release);
  }
}

Result<GivenNumbers> GivenLimits::add(const GivenLimit& limit, std::string_view owner) {
  const LimitParams params = SLUICE_TRY(checked_limit_params(limit.algorithm, limit.rate, limit.burst));
  const Lock lock(mutex_);
  if (const auto known = find(limit)) return *known;
  const auto before = brought_.find(owner);
  const std::size_t brought = before == brought_.end() ? 0 : before->second;
  const ParamsId id = has_room(brought) ? params_.intern(params) : 0;
  if (id == 0)
    return invalid("", "this caller has sent " + std::to_string(brought) +
                           " different limits, and there is no room for more; put limits into policies");
  insert(limit, id);
  brought_.insert_or_assign(std::string(owner), brought + 1);
  return numbers(id);
}

}  // namespace sluice

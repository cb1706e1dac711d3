#include "engine/hot/hot_sketch.h"

#include <algorithm>
#include <cmath>

#include "base/limits/lease_limits.h"
#include "engine/hot/hot_keys.h"

namespace sluice {
namespace {

constexpr double kTauUs = 2.0 * kSecondUs;
constexpr double kWeightMax = 0x1p400;  // a double holds 2^1023
constexpr std::int64_t kLookEveryUs = 100'000;

// The weight of a check so long after one with the weight 1.
double weight_after(std::int64_t us) { return std::exp(static_cast<double>(us) / kTauUs); }

}  // namespace

HotSketch::HotSketch(HotKeys& all, const KeyHasher& hasher, std::uint64_t seed, bool shows_values)
    : all_(all), hasher_(hasher), shows_values_(shows_values), sampler_(seed), promoted_(all.promoted()) {
  all_.add(*this);
}

HotSketch::~HotSketch() { all_.remove(*this); }

KeyHash HotSketch::section_of(const HotCheck& check) {
  scratch_.assign(reinterpret_cast<const char*>(&check.limit.identity), sizeof check.limit.identity)
      .append(check.name.tenant);
  return hasher_(scratch_);
}

HotSketch::Section* HotSketch::find_section(const HotCheck& check, double weight) {
  const auto [slot, is_new] = sections_.add(section_of(check), weight, sampler_.random());
  if (!slot) return nullptr;
  if (!is_new) return slot->note.get();
  if (!slot->note) slot->note = std::make_unique<Section>();
  Section& section = *slot->note;
  section.policy_id = check.policy.source.id;
  section.limit = check.limit.name();
  section.tenant = check.name.tenant;
  section.dimensions = check.limit.key;
  section.by_checks.clear();
  section.by_denials.clear();
  return &section;
}

void HotSketch::add(Keys& to, const HotCheck& check, double weight) {
  const auto [slot, is_new] = to.add(check.key, weight, sampler_.random());
  if (!slot) return;
  if (is_new) slot->note.leased_until_us = 0;
  if (is_new) slot->note.values = check.name.values;
  if (check.is_leased) slot->note.leased_until_us = now_us_ + kLeaseLifeUs;
}

double HotSketch::weight_of_lease(std::int64_t units) const {
  const std::int64_t rate = all_.promote_rate();
  return static_cast<double>(std::min(units, rate > 0 ? rate : kHotKeyRate));
}

void HotSketch::note(const HotCheck& check) {
  if (!mutex_.try_lock()) return;
  const double weight = check.checks * weight_now_;
  if (Section* const section = find_section(check, weight)) {
    add(section->by_checks, check, weight);
    if (check.is_denied) add(section->by_denials, check, weight);
  }
  mutex_.unlock();
}

void HotSketch::tick(std::int64_t now_us) {
  sampler_.tick(now_us);
  if (now_us >= next_look_us_) {
    next_look_us_ = now_us + kLookEveryUs;
    promoted_ = all_.promoted();
  }
  if (!mutex_.try_lock()) return;
  if (begin_us_ == 0) begin_us_ = now_us;
  now_us_ = std::max(now_us_, now_us);
  weight_now_ = weight_after(now_us_ - begin_us_);
  if (!(weight_now_ < kWeightMax)) begin_anew(now_us_);
  mutex_.unlock();
}

// Makes the weight of a check 1 again, and those of the past so much smaller.
void HotSketch::begin_anew(std::int64_t now_us) {
  const double factor = 1 / weight_now_;  // 0 after a very long sleep
  sections_.scale(factor);
  for (Sections::Slot& slot : sections_.slots()) {
    if (!slot.note) continue;
    slot.note->by_checks.scale(factor);
    slot.note->by_denials.scale(factor);
  }
  begin_us_ = now_us;
  weight_now_ = 1;
}

void HotSketch::collect(const HotQuery& query, std::int64_t now_us, std::vector<HotKey>& out) {
  struct Found {
    const Section* section;
    const Keys::Slot* slot;
    double rate;
  };
  std::vector<Found> found;
  const bool by_rate = query.by == HotQuery::By::kRate;
  const Lock lock(mutex_);
  const double per_second = kSecondUs / kTauUs / weight_after(std::max(now_us, now_us_) - begin_us_);
  for (const Sections::Slot& slot : std::as_const(sections_).slots()) {
    const Section* const section = slot.note.get();
    if (slot.weight <= 0 || !section) continue;
    if (!query.policy_id.empty() && section->policy_id != query.policy_id) continue;
    if (query.of_tenant && !query.of_tenant(section->tenant)) continue;
    for (const Keys::Slot& key : (by_rate ? section->by_checks : section->by_denials).slots())
      if (const double rate = key.own() * per_second; key.weight > 0 && rate > 0 && rate >= query.at_least)
        found.push_back({section, &key, rate});
  }
  const std::size_t count = std::min(query.most, found.size());
  std::ranges::nth_element(found, found.begin() + static_cast<std::ptrdiff_t>(count), std::greater{},
                           &Found::rate);
  found.resize(count);
  for (const auto& [section, slot, rate] : found) {
    const Keys::Slot* const other = (by_rate ? section->by_denials : section->by_checks).find(slot->key);
    const double other_rate = other ? other->own() * per_second : 0;
    const std::int64_t leased_until_us =
        std::max(slot->note.leased_until_us, other ? other->note.leased_until_us : 0);
    out.push_back({.policy_id = section->policy_id,
                   .limit = section->limit,
                   .tenant = section->tenant,
                   .key = slot->key,
                   .dimensions = section->dimensions,
                   .values = slot->note.values,
                   // A key that is denied so often is checked at least as often.
                   .rate = by_rate ? rate : std::max(rate, other_rate),
                   .denied_rate = by_rate ? std::min(rate, other_rate) : rate,
                   .is_leased = leased_until_us > now_us});
  }
}

}  // namespace sluice

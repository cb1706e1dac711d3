#include "engine/hot/spare_places.h"

#include <algorithm>

namespace sluice {
namespace {

constexpr std::size_t kSweepsOfAll = 128;
constexpr std::uint32_t kSizeMax = 1u << 20;

}  // namespace

std::int64_t SparePlaces::Place::want(std::int64_t cost, std::int64_t most, std::int64_t now_us) {
  if (is_asking || most < cost || now_us < since_us) return 0;
  const std::int64_t elapsed_us = now_us - since_us;
  if (elapsed_us > (size == 0 ? kAheadUs : 2 * kLifeUs)) {  // begins anew
    size = 0;
    since_us = now_us;
    return 0;
  }
  const auto step = static_cast<std::uint32_t>(std::min<std::int64_t>(cost, kSizeMax));
  if (elapsed_us <= kAheadUs)
    size = std::clamp(2 * size, step, kSizeMax);
  else if (elapsed_us > 2 * kAheadUs)
    size = std::max(size / 2, step);
  size = static_cast<std::uint32_t>(std::min<std::int64_t>(size, most));
  since_us = now_us;
  return size;
}

void SparePlaces::note(const KeyHash& id, std::int64_t now_us, SampleRandom& random, Place& dislodged) {
  const std::span<Place> set = set_of(id);
  Place& place = *std::ranges::min_element(set, {}, &Place::checks);
  if (place.checks > 0 && random.unit() * (place.checks + 1) >= 1) return;
  dislodged = place;
  place = {.id = id, .since_us = now_us, .checks = 1};
}

std::span<SparePlaces::Place> SparePlaces::sweep(std::int64_t now_us) {
  if (now_us < next_sweep_us_) return {};
  next_sweep_us_ = now_us + kSweepEveryUs;
  const std::size_t count = std::max<std::size_t>(places_.size() / kSweepsOfAll, 1);
  if (swept_ >= places_.size()) swept_ = 0;
  const std::span<Place> part = std::span(places_).subspan(swept_, std::min(count, places_.size() - swept_));
  swept_ += part.size();
  for (Place& place : part) place.checks /= 2;
  return part;
}

}  // namespace sluice

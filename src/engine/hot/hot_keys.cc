#include "engine/hot/hot_keys.h"

#include <algorithm>
#include <map>
#include <string_view>
#include <tuple>
#include <utility>

namespace sluice {

void HotKeys::add(HotSketch& sketch) {
  const Lock lock(mutex_);
  sketches_.push_back(&sketch);
}

void HotKeys::remove(HotSketch& sketch) {
  const Lock lock(mutex_);
  std::erase(sketches_, &sketch);
}

std::vector<HotKey> HotKeys::list(const HotQuery& query, std::int64_t now_us) const {
  const Lock lock(mutex_);
  return add_up(query, now_us);
}

std::vector<HotKey> HotKeys::add_up(const HotQuery& query, std::int64_t now_us) const {
  std::vector<HotKey> found;
  HotQuery of_loop = query;
  of_loop.most = kHotKeysListedMax;  // a key may be far behind on one loop and in front on all together
  for (HotSketch* const sketch : sketches_) sketch->collect(of_loop, now_us, found);
  std::map<KeyHash, HotKey> sums;
  for (HotKey& key : found) {
    const auto [at, is_new] = sums.try_emplace(key.key);
    HotKey& sum = at->second;
    if (is_new) {
      sum = std::move(key);
      continue;
    }
    sum.rate += key.rate;
    sum.denied_rate += key.denied_rate;
    sum.is_leased |= key.is_leased;
  }
  std::vector<HotKey> all;
  for (auto& sum : sums) all.push_back(std::move(sum.second));
  const auto rate_of = query.by == HotQuery::By::kRate ? &HotKey::rate : &HotKey::denied_rate;
  std::ranges::sort(all, {}, [rate_of](const HotKey& key) {
    return std::tuple(-(key.*rate_of), std::string_view(key.policy_id), std::string_view(key.limit));
  });
  if (all.size() > query.most) all.resize(query.most);
  return all;
}

void HotKeys::promote(std::int64_t now_us) {
  if (promote_rate_ == 0) return;
  const auto rate = static_cast<double>(promote_rate_);
  const double kept_rate = rate / 2;
  const std::shared_ptr<const PromotedKeys> before = promoted();
  std::vector<KeyHash> keys;
  {
    const Lock lock(mutex_);
    // What a loop may leave out, because all loops together could not make it hot.
    const double at_least = kept_rate / 4 / static_cast<double>(std::max<std::size_t>(sketches_.size(), 1));
    for (const HotKey& key : add_up({.at_least = at_least}, now_us))
      if (key.rate >= rate || (key.rate >= kept_rate && before->contains(key.key))) keys.push_back(key.key);
  }
  if (keys.empty() && before->empty()) return;
  if (keys.size() > kPromotedKeysMax) keys.resize(kPromotedKeysMax);
  auto promoted = std::make_shared<const PromotedKeys>(keys);
  const Lock lock(promoted_mutex_);
  promoted_ = std::move(promoted);
}

std::shared_ptr<const PromotedKeys> HotKeys::promoted() const {
  const Lock lock(promoted_mutex_);
  return promoted_;
}

}  // namespace sluice

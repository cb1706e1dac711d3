#include "engine/record/fair_log.h"

#include <algorithm>

namespace sluice {
namespace {

constexpr std::size_t kLaneBytes = 768;  // of a lane without decisions, roughly

std::size_t heap_bytes(const std::string& text) {
  return text.capacity() > std::string().capacity() ? text.capacity() + 1 : 0;
}

}  // namespace

std::size_t KnownDecision::bytes() const {
  std::size_t sum = sizeof *this + dimensions.capacity() * sizeof dimensions[0];
  for (const std::string* text : {&tenant, &key, &policy_id, &limit, &resource, &request_id})
    sum += heap_bytes(*text);
  for (const auto& [name, value] : dimensions) sum += heap_bytes(name) + heap_bytes(value);
  return sum;
}

bool DecisionQuery::wants(const KnownDecision& decision) const {
  if (decision.place.at_us < since_us || decision.place.at_us > until_us) return false;
  if (before && decision.place >= *before) return false;
  if (result == Result::kAllowed && !decision.allowed) return false;
  if (result == Result::kDenied && decision.allowed) return false;
  if (result == Result::kDegraded && !decision.degraded) return false;
  if (!policy_id.empty() && decision.policy_id != policy_id) return false;
  if (key_hash && decision.key_hash != *key_hash) return false;
  return !of_tenant || of_tenant(decision.tenant);
}

void FairLog::resize(Lanes::value_type& lane, std::ptrdiff_t by) {
  by_size_.erase({lane.second.bytes, &lane});
  lane.second.bytes += static_cast<std::size_t>(by);
  bytes_ += static_cast<std::size_t>(by);
  by_size_.insert({lane.second.bytes, &lane});
}

void FairLog::add(KnownDecision decision) {
  const std::size_t bytes = decision.bytes();
  auto found = lanes_.find(std::string_view(decision.tenant));
  if (found == lanes_.end()) {
    found = lanes_.try_emplace(decision.tenant).first;
    resize(*found, kLaneBytes);
  }
  resize(*found, static_cast<std::ptrdiff_t>(bytes));
  found->second.decisions.push_back(std::move(decision));
  ++size_;
  while (bytes_ > bytes_max_ && size_ > 1) drop_one();
}

void FairLog::drop_one() {
  Lanes::value_type& largest = *by_size_.rbegin()->second;
  Lane& lane = largest.second;
  resize(largest, -static_cast<std::ptrdiff_t>(lane.decisions.front().bytes()));
  lane.decisions.pop_front();
  --size_;
  if (!lane.decisions.empty()) return;
  resize(largest, -static_cast<std::ptrdiff_t>(kLaneBytes));
  by_size_.erase({lane.bytes, &largest});
  lanes_.erase(lanes_.find(largest.first));
}

void FairLog::collect(const DecisionQuery& query, std::vector<KnownDecision>& out) const {
  std::vector<const KnownDecision*> found;
  for (const auto& [tenant, lane] : lanes_) {
    if (query.of_tenant && !query.of_tenant(tenant)) continue;
    for (const KnownDecision& decision : lane.decisions)
      if (query.wants(decision)) found.push_back(&decision);
  }
  const std::size_t count = std::min(query.most, found.size());
  std::ranges::nth_element(found, found.begin() + static_cast<std::ptrdiff_t>(count), std::greater{},
                           [](const KnownDecision* decision) { return decision->place; });
  for (const KnownDecision* decision : std::span(found).first(count)) out.push_back(*decision);
}

}  // namespace sluice

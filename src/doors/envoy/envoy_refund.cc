#include "doors/envoy/envoy_refund.h"

#include <cassert>

namespace sluice::doors {

void EnvoyRefund::take_others(const Written& others) {
  if (others) {
    EnvoyAnswer& kept = *others_.emplace(**others);
    for (EnvoyStatus& status : kept.statuses) status.name = keep(status.name);
    for (const net::Header& header : kept.headers)
      headers_.push_back({keep(header.name), keep(header.value)});
    kept.headers = headers_;
  } else {
    others_.emplace(std::unexpected(others.error()));
  }
  note_progress();
}

void EnvoyRefund::take_levels(const Result<JointDecision>& given) {
  std::vector<Level>& levels = levels_.emplace();
  for (std::size_t i = 0; i < planned_.size() && given; ++i) {
    const PlannedDescriptor& descriptor = planned_[i];
    if (!descriptor.gives_back || descriptor.check == PlannedDescriptor::kNotAsked) continue;
    EnvoyStatus& status =
        levels.emplace_back(i, status_of(descriptor, &given->parts[descriptor.check])).status;
    status.name = keep(status.name);
  }
  note_progress();
}

EnvoyRefund::Written EnvoyRefund::answer() {
  assert(is_complete());
  if (!*others_) return std::unexpected(others_->error());
  EnvoyAnswer& answer = **others_;
  for (const auto& [descriptor, status] : *levels_) answer.statuses[descriptor] = status;
  return &answer;
}

void EnvoyRefund::note_progress() {
  if (write_ && is_complete()) write_(answer());
}

}  // namespace sluice::doors

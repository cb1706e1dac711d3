#include "telemetry/check_meter.h"

namespace sluice {

std::string_view to_string(CheckResult result) {
  constexpr std::array<std::string_view, kCheckResults> kNames = {"allowed", "denied", "error"};
  return kNames[static_cast<std::size_t>(result)];
}

std::string_view to_string(CheckError error) {
  constexpr std::array<std::string_view, kCheckErrors> kNames = {
      "none",    "store_unavailable", "store_full", "switch",     "tenant_moving", "policies_unavailable",
      "invalid", "not_found",         "conflict",   "overloaded", "other"};
  return kNames[static_cast<std::size_t>(error)];
}

CheckMeter::Sum& CheckMeter::Sum::operator+=(const Sum& other) {
  for (std::size_t slot = 0; slot < kSlots; ++slot) {
    for (std::size_t i = 0; i < ends[slot].size(); ++i) ends[slot][i] += other.ends[slot][i];
    latency[slot] += other.latency[slot];
  }
  return *this;
}

void CheckMeter::add_to(Sum& sum) const {
  for (std::size_t slot = 0; slot < kSlots; ++slot) {
    const Cells& cells = cells_[slot];
    for (std::size_t i = 0; i < cells.ends.size(); ++i)
      sum.ends[slot][i] += cells.ends[i].load(std::memory_order_relaxed);
    for (std::size_t i = 0; i < cells.latency.size(); ++i)
      sum.latency[slot].counts[i] += cells.latency[i].load(std::memory_order_relaxed);
    sum.latency[slot].sum_ns += cells.sum_ns.load(std::memory_order_relaxed);
  }
}

}  // namespace sluice

#include "server/nodes/self_report.h"

#include <unistd.h>

#include <array>
#include <random>

#include "base/text/encode.h"
#include "server/nodes/node_words.h"

namespace sluice::server {

void SelfReport::refresh(DecisionTotals& totals, std::size_t policies, std::int64_t now_us) {
  constexpr std::size_t kManyPolicies = 5'000, kCallsWithMany = 5;
  if (calls_++ % (policies > kManyPolicies ? kCallsWithMany : 1) != 0) return;
  DecisionTotals::Busiest busiest = totals.busiest(kNodePoliciesMax);
  const auto counts = [](const DecisionTotals::Counts& of) {
    return NodeReport::Counts{.allowed = of.allowed, .denied = of.denied, .degraded = of.failed};
  };
  std::vector<NodeReport::Policy> shown;
  for (auto& [id, checks] : busiest.policies) shown.push_back({std::move(id), counts(checks)});
  DurationHistogram latency;
  for (const DurationHistogram& of_algorithm : busiest.checks.latency) latency += of_algorithm;
  const Lock lock(mutex_);
  report_.counted_us = now_us;
  report_.checks = counts(busiest.all);
  report_.no_policy = busiest.no_policy;
  report_.policies = std::move(shown);
  report_.latency = latency;
}

std::string host_name() {
  std::array<char, 256> name{};
  return gethostname(name.data(), name.size() - 1) == 0 ? name.data() : "sluice";
}

std::string fresh_node_id() {
  std::random_device random;
  std::string bytes;
  for (std::size_t i = 0; i < kNodeIdBytes / 2; ++i) bytes.push_back(static_cast<char>(random()));
  return to_hex(bytes);
}

}  // namespace sluice::server

#include "plan/policy_set.h"

#include <algorithm>
#include <utility>

#include "policy/files/policy_files.h"

namespace sluice::plan {
namespace {

constexpr std::uint32_t kChecksPerTending = 64;  // about as often as in a server under load

void add_dimensions(const std::vector<CompiledLimit>& limits, std::vector<std::string>& out) {
  for (const CompiledLimit& limit : limits) out.insert(out.end(), limit.per().begin(), limit.per().end());
}

}  // namespace

PolicySet::PolicySet(const Clock& clock, const MemoryCountersOptions& memory)
    : snapshot_(Snapshot::empty()), counters_(clock, params_, memory), store_(counters_, clock) {}

std::expected<std::vector<Policy>, std::string> PolicySet::read(const std::vector<std::string>& paths) {
  Problems problems;
  const std::vector<PolicyFile> files = read_policy_files(paths, problems);
  std::vector<WrittenPolicy> written;
  if (problems.empty()) written = parse_plain_policy_files(files, problems);
  if (!problems.empty()) return std::unexpected(problems.list().front().text());
  std::vector<Policy> policies;
  for (WrittenPolicy& one : written) policies.push_back(std::move(one.policy));
  return policies;
}

std::expected<std::unique_ptr<PolicySet>, std::string> PolicySet::load(const std::vector<std::string>& paths,
                                                                       const Clock& clock) {
  auto policies = read(paths);
  if (!policies) return std::unexpected(policies.error());
  return of(*std::move(policies), clock);
}

std::expected<std::unique_ptr<PolicySet>, std::string> PolicySet::of(std::vector<Policy> policies,
                                                                     const Clock& clock,
                                                                     const MemoryCountersOptions& memory) {
  std::unique_ptr<PolicySet> set(new PolicySet(clock, memory));
  auto snapshot = Snapshot::compile(std::move(policies), set->params_);
  if (!snapshot) return std::unexpected(snapshot.error().message);
  set->snapshot_ = *snapshot;
  set->snapshots_.publish(*snapshot);
  set->engine_ = std::make_unique<Engine>(
      Engine::Parts{set->store_, set->snapshots_, set->hasher_, clock, set->totals_});
  return set;
}

Result<Decision> PolicySet::check(const CheckRequest& request) {
  if (until_tended_-- == 0) {
    counters_.tend();
    until_tended_ = kChecksPerTending;
  }
  return engine_->check(request);
}

std::vector<std::string> PolicySet::used_dimensions() const {
  std::vector<std::string> names;
  snapshot_->policies().for_each([&names](const auto& entry) {
    const CompiledPolicy& policy = *entry;
    add_dimensions(policy.limits, names);
    for (const CompiledTier& tier : policy.tiers) add_dimensions(tier.limits, names);
    if (!policy.tiers.empty()) names.emplace_back("tier");
  });
  std::ranges::sort(names);
  names.erase(std::ranges::unique(names).begin(), names.end());
  return names;
}

}  // namespace sluice::plan

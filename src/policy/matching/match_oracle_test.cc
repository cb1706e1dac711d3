// Ten thousand random policies, looked up through the index and by linear search: the answers are the same.
#include <gtest/gtest.h>

#include <algorithm>
#include <optional>
#include <tuple>

#include "policy/matching/pattern.h"
#include "policy/testing/policies.h"

namespace sluice {
namespace {

std::vector<std::string_view> split(std::string_view text) {
  std::vector<std::string_view> parts;
  for (std::size_t start = 0;;) {
    const std::size_t slash = text.find('/', start);
    parts.push_back(text.substr(start, slash - start));
    if (slash == std::string_view::npos) return parts;
    start = slash + 1;
  }
}

// How specific a match is; smaller is more specific. The criteria are in the order of the documentation.
struct Specificity {
  int any_tenant, kind;
  int covered;  // bytes of the resource before the pattern's star, negated: more is more specific
  std::vector<int> wildcards;  // from the left: text (0) before parameter (1)
  friend auto operator<=>(const Specificity&, const Specificity&) = default;
};

std::optional<Specificity> specificity(const Policy& policy, std::string_view tenant,
                                       std::string_view resource) {
  if (!policy.tenant.empty() && policy.tenant != tenant) return std::nullopt;
  const int any_tenant = policy.tenant.empty();
  if (policy.resource.empty()) return Specificity{any_tenant, 3, 0, {}};
  if (policy.resource == resource) return Specificity{any_tenant, 0, 0, {}};

  auto pattern = split(policy.resource);
  auto parts = split(resource);
  const bool prefix = pattern.back().ends_with('*');
  if (prefix ? parts.size() < pattern.size() : parts.size() != pattern.size()) return std::nullopt;
  Specificity result{any_tenant, prefix ? 2 : 1, 0, {}};
  for (std::size_t i = 0; i < pattern.size() - prefix; ++i) {
    const bool wildcard = pattern[i] == "*" || pattern[i].starts_with('{');
    if (wildcard ? parts[i].empty() : parts[i] != pattern[i]) return std::nullopt;
    result.wildcards.push_back(wildcard);
  }
  if (!prefix) return result;
  const std::string_view last = pattern.back().substr(0, pattern.back().size() - 1);
  // The rest of the resource, from the segment with the star.
  const auto start = static_cast<std::size_t>(parts[pattern.size() - 1].data() - resource.data());
  if (!resource.substr(start).starts_with(last)) return std::nullopt;
  result.covered = -static_cast<int>(start + last.size());
  return result;
}

class MatchOracle : public ::testing::Test {
 protected:
  std::size_t below(std::size_t end) { return random_() % end; }

  std::string word() {
    constexpr std::string_view kWords[] = {"a", "b", "ab", "users", "v1", ""};
    return std::string(kWords[below(std::size(kWords))]);
  }

  std::string random_resource() {
    std::string text = below(8) == 0 ? word() : "/" + word();
    for (std::size_t more = below(5); more > 0; --more) text += "/" + word();
    return text;
  }

  std::string random_pattern() {
    std::string text = below(8) == 0 ? word() : "/" + word();
    for (std::size_t more = below(5); more > 0; --more) {
      constexpr std::string_view kParameters[] = {"*", "{id}", "{name}"};
      text += "/" + (below(3) == 0 ? std::string(kParameters[below(3)]) : word());
    }
    return below(4) == 0 && !text.ends_with('}') && !text.ends_with('*') ? text + "*" : text;
  }

  std::string random_tenant() { return below(3) == 0 ? "" : "t" + std::to_string(below(30)); }

  std::mt19937_64 random_ = testing::seeded_random();
};

TEST_F(MatchOracle, IndexAndScanAgreeOnTenThousandPolicies) {
  const auto limits = testing::policies_of("policies: [{id: p, limits: [{rate: 1/s}]}]")[0].limits;
  std::vector<Policy> policies;
  std::map<std::pair<std::string, std::string>, int> taken;
  while (policies.size() < 10'000) {
    Policy policy;
    policy.tenant = random_tenant();
    policy.resource = below(50) == 0 ? "" : random_pattern();
    policy.always = below(50) == 0;
    const auto pattern = parse_pattern(policy.resource);
    if (policy.resource == "*" || !pattern) continue;
    if (!policy.always && taken[{policy.tenant, pattern->canonical()}]++ > 0) {
      policy.tenant += "." + std::to_string(policies.size());  // not looked up, but fills the index
    }
    if (policy.always && below(10) != 0) policy.tenant += "." + std::to_string(policies.size());
    policy.id = "p" + std::to_string(policies.size());
    policy.limits = limits;
    policies.push_back(policy);
  }
  ParamsTable params;
  const auto snapshot = Snapshot::compile(policies, params);
  ASSERT_TRUE(snapshot) << snapshot.error().message;

  int matched = 0;
  Matches found;
  for (int round = 0; round < 300; ++round) {
    const std::string tenant = random_tenant(), resource = random_resource();
    std::vector<std::pair<Specificity, std::string>> specific;
    std::vector<std::string> always;
    for (const Policy& policy : policies) {
      const auto rank = specificity(policy, tenant, resource);
      if (!rank) continue;
      if (policy.always)
        always.push_back(policy.id);
      else
        specific.emplace_back(*rank, policy.id);
    }
    std::vector<std::string> expected;
    if (!specific.empty()) expected.push_back(std::ranges::min(specific).second);
    std::ranges::sort(always);
    expected.insert(expected.end(), always.begin(), always.end());

    (*snapshot)->match(tenant, resource, testing::EveryRollout(), found);
    std::vector<std::string> ids;
    for (const CompiledPolicy* policy : found.policies) ids.push_back(policy->source.id);
    if (ids.size() > always.size()) ++matched;
    std::sort(ids.begin() + (ids.size() > always.size()), ids.end());
    ASSERT_EQ(ids, expected) << "tenant " << tenant << ", resource " << resource;
  }
  EXPECT_GT(matched, 100);
}

}  // namespace
}  // namespace sluice

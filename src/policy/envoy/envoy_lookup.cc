#include "policy/envoy/envoy_lookup.h"

#include <algorithm>
#include <array>
#include <cassert>
#include <utility>

#include "base/limits.h"

namespace sluice {
namespace {

constexpr Rate kAnyNumbers{1, 1'000'000};

}  // namespace

// Builds the nodes and their policies.
class EnvoyLookup::Builder {
 public:
  Builder(const EnvoyDomain& domain, std::vector<WrittenPolicy>& policies, Problems& problems)
      : domain_(domain), policies_(policies), problems_(problems) {}

  Children children(const std::vector<EnvoyDescriptor>& descriptors) {
    std::map<std::string, Siblings> made;
    for (const EnvoyDescriptor& each : descriptors) {
      path_.push_back({each.key, each.value});
      auto fresh = node(each);
      path_.pop_back();
      Siblings& siblings = made[each.key];
      if (each.value.empty())
        siblings.any = std::move(fresh);
      else if (each.value.contains('*'))
        siblings.wildcards.push_back(std::move(fresh));
      else
        siblings.exact.emplace(each.value, std::move(fresh));
    }
    return Children(std::move(made));
  }

  std::string add_override_policy() {
    Policy policy = policy_at("/~override");
    policy.id = envoy_policy_id(domain_.name, {}, policy.resource, "/~override");
    policy.limits.push_back(limit("override", kAnyNumbers, domain_.line));
    policies_.push_back({policy, domain_.file, domain_.line, ""});
    return policy.id;
  }

 private:
  std::unique_ptr<Node> node(const EnvoyDescriptor& descriptor) {
    auto made = std::make_unique<Node>();
    made->value = descriptor.value;
    made->resource_keys = envoy_resource_keys(path_);
    made->shared = descriptor.shared;
    EnvoyRule& rule = made->rule;
    rule.metadata = descriptor.metadata;
    rule.quota = descriptor.quota;
    if (descriptor.limit) {
      rule.unlimited = descriptor.limit->unlimited;
      rule.name = descriptor.limit->name;
      rule.replaces = descriptor.limit->replaces;
      if (!rule.unlimited) rule.policy_id = add_policy(descriptor);
    }
    made->children = children(descriptor.children);
    return made;
  }

  std::string add_policy(const EnvoyDescriptor& descriptor) {
    Policy policy = policy_at(envoy_resource(path_));
    if (policy.resource.size() > kResourceBytesMax)
      problems_.add({domain_.file, descriptor.line, "",
                     "keys and values together exceed " + std::to_string(kResourceBytesMax) + " bytes"});
    policy.id = envoy_policy_id(domain_.name, path_, policy.resource);
    policy.limits.push_back(
        limit(descriptor.limit->policy_limit_name(), descriptor.limit->rate, descriptor.line));
    policy.shadow = descriptor.shadow;
    policies_.push_back({policy, domain_.file, descriptor.line, ""});
    return policy.id;
  }

  Policy policy_at(std::string resource) const {
    Policy policy;
    policy.tenant = domain_.name;
    policy.resource = std::move(resource);
    return policy;
  }

  // Fixed windows, as in the original.
  Limit limit(std::string name, const Rate& rate, int line) {
    Limit made{.name = std::move(name), .per = {"resource"}, .count_denied = domain_.counts_denied};
    if (const auto params = checked_limit_params(Algorithm::kFixedWindow, rate, std::nullopt))
      made.params = *params;
    else
      problems_.add({domain_.file, line, "", params.error().message});
    return made;
  }

  const EnvoyDomain& domain_;
  std::vector<WrittenPolicy>& policies_;
  Problems& problems_;
  std::vector<EnvoyEntry> path_;
};

EnvoyLookup::EnvoyLookup(const EnvoyDomain& domain, std::vector<WrittenPolicy>& policies, Problems& problems)
    : name_(domain.name) {
  Builder builder(domain, policies, problems);
  top_ = builder.children(domain.descriptors);
  override_policy_id_ = builder.add_override_policy();
}

EnvoyLookup::~EnvoyLookup() = default;

// This value, else the first wildcard that matches, else the key alone. An empty value matches a lone star.
const EnvoyLookup::Node* EnvoyLookup::Siblings::find(std::string_view value) const {
  if (!exact.empty())
    if (const auto found = exact.find(value); found != exact.end()) return found->second.get();
  for (const std::unique_ptr<Node>& node : wildcards)
    if (fits_stars(node->value, value)) return node.get();
  return any.get();
}

EnvoyLookup::Children::Children(std::map<std::string, Siblings> by_key) {
  for (auto& [key, siblings] : by_key) sorted_.emplace_back(key, std::move(siblings));
  std::ranges::sort(sorted_, before, &std::pair<std::string, Siblings>::first);
}

const EnvoyLookup::Siblings* EnvoyLookup::Children::find(std::string_view key) const {
  constexpr std::size_t kFew = 8;
  if (sorted_.size() <= kFew) {
    for (const auto& [known, siblings] : sorted_)
      if (known == key) return &siblings;
    return nullptr;
  }
  const auto at = std::ranges::lower_bound(sorted_, key, before, &std::pair<std::string, Siblings>::first);
  return at != sorted_.end() && at->first == key ? &at->second : nullptr;
}

const EnvoyLookup::Node* EnvoyLookup::next(const Children& children, const EnvoyEntry& entry) {
  const Siblings* const siblings = children.find(entry.name);
  return siblings ? siblings->find(entry.value) : nullptr;
}

const EnvoyRule* EnvoyLookup::find(std::span<const EnvoyEntry> entries, std::string& resource) const {
  assert(!entries.empty() && entries.size() <= kDimensionsMax);
  const Children* children = &top_;
  const Node* node = nullptr;
  bool any_shared = false;
  for (const EnvoyEntry& entry : entries) {
    node = next(*children, entry);
    if (!node) return nullptr;
    any_shared |= node->shared;
    children = &node->children;
  }
  if (any_shared)
    append_shared_counter(entries, resource);
  else
    append_envoy_counter(node->resource_keys, entries, resource);
  return &node->rule;
}

// Puts the wildcard in place of the values that share a counter. REQUIRES: the tree has this descriptor.
[[gnu::noinline]] void EnvoyLookup::append_shared_counter(std::span<const EnvoyEntry> entries,
                                                          std::string& resource) const {
  std::array<EnvoyEntry, kDimensionsMax> counted;
  const Children* children = &top_;
  const Node* node = nullptr;
  for (std::size_t i = 0; i < entries.size(); ++i) {
    node = next(*children, entries[i]);
    counted[i] = {entries[i].name, node->shared ? std::string_view(node->value) : entries[i].value};
    children = &node->children;
  }
  append_envoy_counter(node->resource_keys, {counted.data(), entries.size()}, resource);
}

}  // namespace sluice

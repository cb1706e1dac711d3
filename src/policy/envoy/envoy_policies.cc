#include "policy/envoy/envoy_policies.h"

#include <algorithm>
#include <map>

#include "base/limits.h"
#include "document/literals.h"
#include "policy/envoy/envoy_tree.h"

namespace sluice {
namespace {

using Kind = EnvoyLevel::Kind;
using Keys = std::vector<std::string>;

constexpr Rate kUnlimited{kRateMax, 1'000};  // 10^12 per second
constexpr std::size_t kComparisonsMax = 100'000'000;

// A policy in the making: what each value must be, and the node whose limit applies. Without a node nothing
// is limited.
struct Entry {
  std::vector<EnvoyLevel> levels;
  std::vector<const EnvoyDescriptor*> nodes;  // one per level; null: any value, not from a node
  bool limits = false;

  const EnvoyDescriptor& last_node() const {
    std::size_t last = nodes.size() - 1;
    while (!nodes[last]) --last;
    return *nodes[last];
  }
};

// The entries for one sequence of keys. Only they compete for requests.
struct Group {
  std::vector<Entry> entries;
  bool has_prefix = false;  // if so, a final "any value" is also a star, so that the longer prefix wins
};

bool overlap(const Entry& a, const Entry& b) {
  for (std::size_t i = 0; i < a.levels.size(); ++i)
    if (!a.levels[i].overlaps(b.levels[i])) return false;
  return true;
}

// Whether Envoy picks `a` where both match. REQUIRES: they overlap and are not equal.
bool theirs_first(const Entry& a, const Entry& b) {
  const auto [one, other] = std::ranges::mismatch(a.levels, b.levels);
  return one->before(*other);
}

// 0 exact, 1 with parameters, 2 a prefix: the order in which Sluice looks.
int rank(const Entry& entry, const Group& group) {
  const auto is_exact = [](const EnvoyLevel& level) { return level.kind == Kind::kExact; };
  if (group.has_prefix && !is_exact(entry.levels.back())) return 2;
  return std::ranges::all_of(entry.levels, is_exact) ? 0 : 1;
}

// Whether Sluice picks `a` where both match, given that Envoy does.
bool ours_first_too(const Entry& a, const Entry& b, const Group& group) {
  const int rank_a = rank(a, group), rank_b = rank(b, group);
  if (rank_a != rank_b) return rank_a < rank_b;
  return rank_a < 2 || a.levels.back().text.size() >= b.levels.back().text.size();
}

// Converts one domain. Used once.
class DomainConverter {
 public:
  DomainConverter(const EnvoyDomain& domain, Problems& problems, std::vector<Problem>& warnings,
                  EnvoyPolicies& out)
      : domain_(domain), problems_(problems), warnings_(warnings), out_(out) {}

  void convert() {
    const auto nodes = usable_envoy_nodes(domain_.descriptors, domain_.file, warnings_, out_.left_out);
    Keys keys;
    Entry path;
    collect(nodes, keys, path);
    for (auto& [group_keys, group] : groups_) {
      const std::size_t limits = group.entries.size();
      add_guards(nodes, group_keys, 0, path, group, limits);
      if (group.has_prefix) leave_out_misplaced(group);
      if (comparisons_ > kComparisonsMax)
        return report(domain_.line,
                      "values, wildcards and bare keys are nested too deeply; split the domain");
      for (const Entry& entry : group.entries) write(entry, group, group_keys);
      if (out_.policies.size() > kPoliciesMax)
        return report(domain_.line,
                      "this would need more than " + std::to_string(kPoliciesMax) + " policies");
    }
  }

 private:
  void report(int line, std::string message) { problems_.add({domain_.file, line, "", std::move(message)}); }
  void warn(int line, std::string message) {
    warnings_.push_back({domain_.file, line, "", std::move(message)});
  }

  static void push(Entry& path, const EnvoyNode& node) {
    path.levels.push_back(node.level);
    path.nodes.push_back(node.source);
  }
  static void pop(Entry& path) {
    path.levels.pop_back();
    path.nodes.pop_back();
  }

  // Collects every node with a limit, under its keys.
  void collect(const std::vector<EnvoyNode>& nodes, Keys& keys, Entry& path) {
    for (const EnvoyNode& node : nodes) {
      keys.push_back(node.source->key);
      push(path, node);
      if (node.source->limit) {
        Group& group = groups_[keys];
        group.entries.push_back(path);
        group.entries.back().limits = true;
        group.has_prefix |= node.level.kind == Kind::kPrefix;
      }
      collect(node.children, keys, path);
      pop(path);
      keys.pop_back();
    }
  }

  // Follows every path that requests with these keys can take. Where a path ends without a limit, adds a
  // policy that never denies, so that less specific policies do not apply.
  void add_guards(const std::vector<EnvoyNode>& nodes, const Keys& keys, std::size_t depth, Entry& path,
                  Group& group, std::size_t limits) {
    bool goes_on_always = false;
    for (const EnvoyNode& node : nodes) {
      if (node.source->key != keys[depth]) continue;
      push(path, node);
      if (depth + 1 < keys.size())
        add_guards(node.children, keys, depth + 1, path, group, limits);
      else if (!node.source->limit)
        add_guard(path, group, limits);
      pop(path);
      goes_on_always |= node.level.kind == Kind::kAny;
    }
    if (goes_on_always || depth == 0) return;
    Entry dead_end = path;
    dead_end.levels.resize(keys.size());
    dead_end.nodes.resize(keys.size());
    add_guard(dead_end, group, limits);
  }

  void add_guard(const Entry& guard, Group& group, std::size_t limits) {
    if (comparisons_ > kComparisonsMax) return;
    for (std::size_t i = 0; i < limits; ++i, ++comparisons_) {
      const Entry& other = group.entries[i];
      if (!overlap(guard, other) || !theirs_first(guard, other)) continue;
      if (std::any_of(guard.levels.begin(), guard.levels.end() - 1,
                      [](const EnvoyLevel& level) { return level.kind == Kind::kPrefix; })) {
        warn_of_unguarded(guard, other);
        return;
      }
      group.entries.push_back(guard);
      group.has_prefix |= guard.levels.back().kind == Kind::kPrefix;
      return;
    }
  }

  void warn_of_unguarded(const Entry& guard, const Entry& other) {
    warn(guard.last_node().line,
         "requests without a limit below this descriptor are subject to the limit on line " +
             std::to_string(other.last_node().line));
  }

  // The entry that Sluice picks where Envoy picks this one; null: there is none. For Sluice, a prefix ranks
  // below a parameter, wherever that is, and of two prefixes the longer one wins.
  const Entry* taken_instead(const Entry& entry, const Group& group) {
    if (rank(entry, group) < 2) return nullptr;
    for (const Entry& other : group.entries) {
      if (++comparisons_ > kComparisonsMax) return nullptr;
      if (&other != &entry && overlap(entry, other) && theirs_first(entry, other) &&
          !ours_first_too(entry, other, group))
        return &other;
    }
    return nullptr;
  }

  void leave_out_misplaced(Group& group) {
    std::vector<Entry> placed;
    for (const Entry& entry : group.entries) {
      const Entry* other = taken_instead(entry, group);
      if (!other) {
        placed.push_back(entry);
      } else if (entry.limits) {
        ++out_.left_out;
        warn(entry.last_node().line, "the limit is dropped: where both match, the one on line " +
                                         std::to_string(other->last_node().line) + " would be more specific");
      } else {
        warn_of_unguarded(entry, *other);
      }
    }
    group.entries = std::move(placed);
  }

  void write(const Entry& entry, const Group& group, const Keys& keys);
  Limit limit_of(const Entry& entry);

  const EnvoyDomain& domain_;
  Problems& problems_;
  std::vector<Problem>& warnings_;
  EnvoyPolicies& out_;
  std::map<Keys, Group> groups_;
  std::size_t comparisons_ = 0;
};

std::string encoded_keys(const Keys& keys) {
  std::string text;
  for (const std::string& key : keys) text.append(text.empty() ? "/" : ".").append(envoy_encoded_key(key));
  return text;
}

std::string pattern_of(const Entry& entry, const Group& group, const Keys& keys) {
  std::string text = encoded_keys(keys);
  for (std::size_t i = 0; i < keys.size(); ++i) {
    const EnvoyLevel& level = entry.levels[i];
    const bool as_prefix = group.has_prefix && i + 1 == keys.size();
    text += '/';
    if (level.kind == Kind::kAny && !as_prefix)
      text.append("{").append(envoy_encoded(keys[i])).append("}");
    else
      text.append(level.text).append(level.kind == Kind::kExact ? "" : "*");
  }
  return text;
}

std::string id_of(const std::string& domain, const Entry& entry, const Keys& keys,
                  const std::string& pattern) {
  std::vector<EnvoyEntry> path;
  for (std::size_t i = 0; i < keys.size(); ++i)
    path.push_back(
        {keys[i], entry.levels[i].kind == Kind::kAny ? std::string_view() : entry.nodes[i]->value});
  return envoy_policy_id(domain, path, pattern);
}

// Each value has its own counter, except for those of a wildcard with a shared counter.
Limit DomainConverter::limit_of(const Entry& entry) {
  const EnvoyDescriptor& node = entry.last_node();
  const bool is_limited = entry.limits && !node.limit->unlimited;
  Limit limit{.name = "unlimited", .count_denied = domain_.counts_denied};
  if (is_limited) {
    std::size_t own = 0, shared = 0;
    for (std::size_t i = 0; i < entry.levels.size(); ++i)
      if (entry.levels[i].kind != Kind::kExact) ++(entry.nodes[i] && entry.nodes[i]->shared ? shared : own);
    if (own > 0) limit.per = {"resource"};
    if (own > 0 && shared > 0)
      warn(node.line,
           "share_threshold is ignored: every value has its own counter, because other values of the "
           "descriptor are also unrestricted");
    limit.name = node.limit->policy_limit_name();
    if (!node.limit->name.empty() && limit.name != node.limit->name)
      warn(node.limit->line, "the limit's name " + shown(node.limit->name) +
                                 " is not used; the limit is called " + shown(limit.name) + " instead");
  }
  const auto params =
      checked_limit_params(Algorithm::kFixedWindow, is_limited ? node.limit->rate : kUnlimited, std::nullopt);
  if (params)
    limit.params = *params;
  else
    report(node.line, params.error().message);
  return limit;
}

void DomainConverter::write(const Entry& entry, const Group& group, const Keys& keys) {
  const EnvoyDescriptor& node = entry.last_node();
  Policy policy;
  policy.tenant = domain_.name;
  policy.resource = pattern_of(entry, group, keys);
  if (policy.resource.size() > kResourceBytesMax)
    return report(node.line,
                  "keys and values together exceed " + std::to_string(kResourceBytesMax) + " bytes");
  policy.id = id_of(domain_.name, entry, keys, policy.resource);
  policy.limits.push_back(limit_of(entry));
  policy.shadow = entry.limits && node.shadow;
  out_.policies.push_back({std::move(policy), domain_.file, node.line, ""});
}

}  // namespace

EnvoyPolicies convert_envoy_domains(const std::vector<EnvoyDomain>& domains, Problems& problems,
                                    std::vector<Problem>& warnings) {
  EnvoyPolicies out;
  std::map<std::string_view, const EnvoyDomain*> by_name;
  for (const EnvoyDomain& domain : domains) {
    const auto [other, fresh] = by_name.emplace(domain.name, &domain);
    if (fresh)
      DomainConverter(domain, problems, warnings, out).convert();
    else
      problems.add(same_envoy_domain(domain, other->second->file));
  }
  return out;
}

}  // namespace sluice

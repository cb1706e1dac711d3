#include "policy/matching/pattern_trie.h"

#include <algorithm>
#include <functional>

namespace sluice {

void PatternTrie::insert(const Pattern& pattern, Value value) {
  if (pattern.kind == Pattern::Kind::kAny) return append(any_, value);
  NodeId node = kRoot;
  for (const auto& segment : pattern.segments) node = child(node, segment);
  if (pattern.kind != Pattern::Kind::kPrefix) return append(nodes_[node].here, value);

  auto& lengths = nodes_[node].prefix_lengths;
  const auto length = static_cast<std::uint32_t>(pattern.last_prefix.size());
  const auto place = std::ranges::lower_bound(lengths, length, std::greater<>());
  if (place == lengths.end() || *place != length) lengths.insert(place, length);
  append(prefixes_.try_emplace(EdgeKey{node, pattern.last_prefix}).first->second, value);
}

PatternTrie::NodeId PatternTrie::child(NodeId node, const std::optional<std::string>& segment) {
  const auto fresh = static_cast<NodeId>(nodes_.size());
  NodeId found = fresh;
  if (segment) {
    nodes_[node].has_texts = true;
    found = edges_.try_emplace(EdgeKey{node, *segment}, fresh).first->second;
  } else if (nodes_[node].wildcard == kNone) {
    nodes_[node].wildcard = fresh;
  } else {
    found = nodes_[node].wildcard;
  }
  if (found == fresh) nodes_.emplace_back();
  return found;
}

void PatternTrie::append(Chain& chain, Value value) {
  const auto link = static_cast<Link>(values_.size());
  values_.push_back({value});
  if (chain.first == kNone)
    chain.first = link;
  else
    values_[chain.last].next = link;
  chain.last = link;
}

void PatternTrie::list_probes(std::span<const Step> level, std::size_t room, Probes& probes) const {
  probes.clear();
  std::uint32_t order = 0, nodes_with_probes = 0;
  for (const Step& step : level) {
    const std::size_t before = probes.size();
    for (const std::uint32_t length : nodes_[step.node].prefix_lengths)
      if (length <= room) probes.push_back({length, order, step.node});
    nodes_with_probes += probes.size() > before;
    ++order;
  }
  if (nodes_with_probes > 1)  // those of one node are in order
    std::ranges::sort(probes, [](const Probe& a, const Probe& b) {
      return a.length != b.length ? a.length > b.length : a.order < b.order;
    });
}

std::size_t PatternTrie::steps(std::string_view resource) const {
  Path path;
  walk(resource, path);
  std::size_t count = path.steps.size();
  visit_levels(resource, path, [&](std::string_view, const Probes& probes) {
    count += probes.size();
    return false;
  });
  return count;
}

void PatternTrie::walk(std::string_view resource, Path& path) const {
  path.steps.push_back({kRoot, 0});
  while (path.steps[path.level_begin].rest <= resource.size()) {
    const std::size_t begin = path.level_begin, end = path.steps.size();
    const std::uint32_t start = path.steps[begin].rest;
    const std::size_t stop = std::min(resource.find('/', start), resource.size());
    const std::string_view segment = resource.substr(start, stop - start);
    const auto rest = static_cast<std::uint32_t>(stop + 1);
    for (std::size_t i = begin; i < end; ++i) {
      const Node& node = nodes_[path.steps[i].node];
      if (node.has_texts)
        if (const auto edge = edges_.find(EdgeView{path.steps[i].node, segment}); edge != edges_.end())
          path.steps.push_back({edge->second, rest});
      if (node.wildcard != kNone && !segment.empty()) path.steps.push_back({node.wildcard, rest});
    }
    if (path.steps.size() == end) return;
    path.level_begin = end;
  }
  path.complete = true;
}

}  // namespace sluice

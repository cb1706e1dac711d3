#pragma once

#include <boost/container/small_vector.hpp>
#include <boost/unordered/unordered_flat_map.hpp>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/text/text_hash.h"
#include "policy/matching/pattern.h"

namespace sluice {

// Maps patterns to values and finds the values from the most specific matching pattern to the least.
// Thread-safe once all values are inserted. A lookup walks the resource's segments; its cost does not depend
// on the number of patterns, but on the places of their parameters and stars: see PatternSteps, which bounds
// it.
//
// The order is: patterns without a star at the end before those with one; of those with a star, the pattern
// whose part before the star covers more of the resource; then the pattern that has text where, from the
// left, the other first has a parameter; last, the pattern for everything.
class PatternTrie {
 public:
  using Value = std::uint32_t;
  static constexpr Value kNone = UINT32_MAX;

  // Several values may share a pattern; a lookup visits them in the order of insertion.
  void insert(const Pattern& pattern, Value value);
  bool empty() const { return values_.empty(); }

  // Calls `take(value)` for every match until it returns true; returns whether it did.
  template <class Take>
  bool visit(std::string_view resource, Take&& take) const {
    if (nodes_.size() > 1 || !nodes_[kRoot].prefix_lengths.empty()) {
      Path path;
      walk(resource, path);
      if (path.complete)
        for (std::size_t i = path.level_begin; i < path.steps.size(); ++i)
          if (take_chain(nodes_[path.steps[i].node].here, take)) return true;
      if (visit_prefixes(resource, path, take)) return true;
    }
    return take_chain(any_, take);
  }

  // The nodes that a lookup of this resource reaches and the prefixes that it looks up, if it takes nothing.
  std::size_t steps(std::string_view resource) const;

 private:
  using NodeId = std::uint32_t;
  using Link = std::uint32_t;  // index into values_
  static constexpr NodeId kRoot = 0;

  struct Filed {
    Value value;
    Link next = kNone;
  };
  struct Chain {  // the values of one pattern
    Link first = kNone;
    Link last = kNone;
  };
  struct Node {
    NodeId wildcard = kNone;  // child for any one segment
    Chain here;               // values of the pattern that ends here
    bool has_texts = false;   // children for particular segments, in edges_
    // Lengths of the last_prefix of patterns with a star after this node, longest first.
    std::vector<std::uint32_t> prefix_lengths;
  };
  struct EdgeKey {
    NodeId node;
    std::string text;
  };
  struct EdgeView {
    NodeId node;
    std::string_view text;
  };
  struct EdgeHash {
    using is_transparent = void;
    using is_avalanching = void;
    std::size_t operator()(const EdgeView& edge) const { return hash_text(edge.text, edge.node); }
    std::size_t operator()(const EdgeKey& edge) const { return (*this)(EdgeView{edge.node, edge.text}); }
  };
  struct EdgeEqual {
    using is_transparent = void;
    template <class A, class B>
    bool operator()(const A& a, const B& b) const {
      return a.node == b.node && std::string_view(a.text) == std::string_view(b.text);
    }
  };
  template <class To>
  using Edges = boost::unordered_flat_map<EdgeKey, To, EdgeHash, EdgeEqual>;

  // The nodes that the beginning of a resource leads to, level by level; in each level, text before
  // parameters.
  struct Step {
    NodeId node;
    std::uint32_t rest;  // where in the resource the next segment begins
  };
  struct Path {
    boost::container::small_vector<Step, 32> steps;
    std::size_t level_begin = 0;  // first step of the deepest level
    bool complete = false;        // the deepest level has consumed the whole resource
  };

  NodeId child(NodeId node, const std::optional<std::string>& segment);
  void append(Chain& chain, Value value);
  void walk(std::string_view resource, Path& path) const;

  template <class Take>
  bool take_chain(const Chain& chain, Take& take) const {
    for (Link link = chain.first; link != kNone; link = values_[link].next)
      if (take(values_[link].value)) return true;
    return false;
  }

  // A prefix to look up: the next bytes of the resource, after one of the nodes of a level.
  struct Probe {
    std::uint32_t length;
    std::uint32_t order;  // of its node in the level
    NodeId node;
  };
  using Probes = boost::container::small_vector<Probe, 32>;

  // Replaces `probes` by those of a level, in the order of a lookup: the longest text before the star first.
  // `room` is what the level has left of the resource.
  void list_probes(std::span<const Step> level, std::size_t room, Probes& probes) const;

  // Calls `visit(rest, probes)` for every level, the deepest first, until it returns true; returns whether it
  // did. `rest` is what the level has left of the resource.
  template <class Visit>
  bool visit_levels(std::string_view resource, const Path& path, const Visit& visit) const {
    Probes probes;
    // All steps of a level have consumed the same length, so `rest` tells the levels apart.
    for (std::size_t end = path.steps.size(); end > 0;) {
      std::size_t begin = end - 1;
      while (begin > 0 && path.steps[begin - 1].rest == path.steps[end - 1].rest) --begin;
      const std::span level(path.steps.data() + begin, end - begin);
      end = begin;
      if (level[0].rest > resource.size()) continue;
      const std::string_view rest = resource.substr(level[0].rest);
      list_probes(level, rest.size(), probes);
      if (visit(rest, probes)) return true;
    }
    return false;
  }

  template <class Take>
  bool visit_prefixes(std::string_view resource, const Path& path, Take& take) const {
    return visit_levels(resource, path, [&](std::string_view rest, const Probes& probes) {
      for (const Probe& probe : probes) {
        const auto found = prefixes_.find(EdgeView{probe.node, rest.substr(0, probe.length)});
        if (found != prefixes_.end() && take_chain(found->second, take)) return true;
      }
      return false;
    });
  }

  std::vector<Node> nodes_{Node{}};
  Edges<NodeId> edges_;    // node and segment → child
  Edges<Chain> prefixes_;  // node and last_prefix → values
  std::vector<Filed> values_;
  Chain any_;
};

}  // namespace sluice

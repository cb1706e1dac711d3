#pragma once

#include <boost/unordered/unordered_flat_map.hpp>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "policy/document.h"
#include "policy/document_tree.h"
#include "policy/envoy_document.h"
#include "policy/envoy_names.h"
#include "policy/snapshot.h"
#include "policy/text_hash.h"

// envoyproxy/ratelimit's YAML, served as it is: every limit in the tree is a policy with one limit, and the
// tree is only the way to find it. So whatever a policy can do (shadow, failure rule, counters, metrics),
// these can; and what no pattern can say (a star in the middle of a value, no way back up) needs none.
namespace sluice {

// What a listed descriptor comes under. A plain value.
struct EnvoyRule {
  std::string policy_id;  // empty: nothing limits it
  bool unlimited = false;
  std::string name;                   // of the limit; may be empty
  std::vector<std::string> replaces;  // names of limits that do not count in a request which has this one
  bool quota = false;                 // of all such limits of a request, one with room is enough
  DocumentNode metadata;              // a map that goes with the answer, or null
};

// The tree of one domain. Immutable; thread-safe.
//
//   std::string resource;
//   const EnvoyRule* rule = domain.find(entries, resource);
//   limiter.check({.policy_id = rule->policy_id, .tenant = "shop", .resource = resource});
class EnvoyLookup {
 public:
  // Adds a policy for each limit to `policies`. What cannot be is added to `problems`.
  EnvoyLookup(const EnvoyDomain& domain, std::vector<WrittenPolicy>& policies, Problems& problems);
  ~EnvoyLookup();
  EnvoyLookup(const EnvoyLookup&) = delete;
  EnvoyLookup& operator=(const EnvoyLookup&) = delete;

  const std::string& name() const { return name_; }

  // Null: the tree has no such descriptor. Else `resource` gets, at its end, the text by which its counter is
  // known: the keys and values, or the wildcard in place of values that share one. A text longer than a
  // resource may be is replaced by a hash of it.
  // REQUIRES: there are entries, at most kDimensionsMax.
  const EnvoyRule* find(std::span<const EnvoyEntry> entries, std::string& resource) const;

  // The policy of limits that come with requests; its own numbers mean nothing.
  const std::string& override_policy_id() const { return override_policy_id_; }

 private:
  struct Node;
  // The children of one key.
  struct Siblings {
    boost::unordered_flat_map<std::string, std::unique_ptr<Node>, TextHash, std::equal_to<>>
        exact;                                     // by value
    std::vector<std::unique_ptr<Node>> wildcards;  // in the order of the file
    std::unique_ptr<Node> any;

    const Node* find(std::string_view value) const;
  };
  // By key. Most levels have a few, and comparing those costs less than a hash. Sorted, the shorter first.
  class Children {
   public:
    Children() = default;
    explicit Children(std::map<std::string, Siblings> by_key);
    // Null: there are none.
    const Siblings* find(std::string_view key) const;

   private:
    static bool before(std::string_view a, std::string_view b) {
      return a.size() != b.size() ? a.size() < b.size() : a < b;
    }
    std::vector<std::pair<std::string, Siblings>> sorted_;
  };
  struct Node {
    EnvoyRule rule;
    std::string value;          // as in the file
    std::string resource_keys;  // those from the top down to here
    bool shared = false;        // a wildcard, all of whose values have one counter
    Children children;
  };
  class Builder;
  void append_shared_counter(std::span<const EnvoyEntry> entries, std::string& resource) const;
  // Where an entry leads to, or null.
  static const Node* next(const Children& children, const EnvoyEntry& entry);

  std::string name_;
  std::string override_policy_id_;
  Children top_;
};

}  // namespace sluice

#pragma once

#include <boost/unordered/unordered_flat_map.hpp>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/text/text_hash.h"
#include "document/document_tree.h"
#include "policy/document/policy_document.h"
#include "policy/envoy/envoy_document.h"
#include "policy/envoy/envoy_names.h"
#include "policy/snapshot/snapshot.h"

// Serves the YAML of envoyproxy/ratelimit as it is: every limit in the tree becomes a policy with one limit,
// and the tree is used only to find it. So these limits have everything that policies have (shadow mode,
// failure rule, counters, metrics), and rules that no pattern can express (a star in the middle of a value,
// no backtracking) need no pattern.
namespace sluice {

// The rule for a descriptor in the tree. A plain value.
struct EnvoyRule {
  std::string policy_id;  // empty: nothing limits it
  bool unlimited = false;
  std::string name;                   // of the limit; may be empty
  std::vector<std::string> replaces;  // names of limits that do not apply in a request that has this one
  bool quota = false;                 // one such limit with room is enough to allow a request
  DocumentNode metadata;              // a map that is returned with the answer, or null
};

// The tree of one domain. Immutable; thread-safe.
//
//   std::string resource;
//   const EnvoyRule* rule = domain.find(entries, resource);
//   engine.check({.policy_id = rule->policy_id, .tenant = "shop", .resource = resource});
class EnvoyLookup {
 public:
  // Adds a policy for each limit to `policies`. Limits that cannot become policies are added to `problems`.
  EnvoyLookup(const EnvoyDomain& domain, std::vector<WrittenPolicy>& policies, Problems& problems);
  ~EnvoyLookup();
  EnvoyLookup(const EnvoyLookup&) = delete;
  EnvoyLookup& operator=(const EnvoyLookup&) = delete;

  const std::string& name() const { return name_; }

  // Finds the rule for a descriptor. Null: the tree has no such descriptor. Otherwise appends to `resource`
  // the text that identifies its counter: the keys and values, with the wildcard in place of values that
  // share a counter. If the text is longer than a resource may be, a hash replaces it.
  // REQUIRES: there are entries, at most kDimensionsMax.
  const EnvoyRule* find(std::span<const EnvoyEntry> entries, std::string& resource) const;

  // The policy for limits that come with requests; its own numbers are not used.
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
  // Sorted keys, shorter ones first. Most levels have only a few, and comparing them costs less than a hash.
  class Children {
   public:
    Children() = default;
    explicit Children(std::map<std::string, Siblings> by_key);
    // Null: no child has this key.
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
    std::string resource_keys;  // the keys from the root down to this node
    bool shared = false;        // a wildcard whose values all share one counter
    Children children;
  };
  class Builder;
  void append_shared_counter(std::span<const EnvoyEntry> entries, std::string& resource) const;
  // The child that an entry selects, or null.
  static const Node* next(const Children& children, const EnvoyEntry& entry);

  std::string name_;
  std::string override_policy_id_;
  Children top_;
};

}  // namespace sluice

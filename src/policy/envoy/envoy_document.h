#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "document/document_tree.h"
#include "document/problems.h"
#include "policy/model.h"

// The YAML of envoyproxy/ratelimit: a domain and a tree of descriptors. Plain values.
//
//   domain: shop
//   descriptors:
//     - key: path                       any value
//       rate_limit: { unit: minute, requests_per_unit: 100 }
//     - key: path
//       value: /login                   this value
//       descriptors: [{ key: remote_address, rate_limit: { unit: hour, requests_per_unit: 10 } }]
//
// A request's descriptor is a list of entries, each a key and a value. At every level the entry selects the
// child with its key and value, else the first child whose wildcard matches, else the child with the key
// alone. There is no backtracking. The limit is that of the node where the last entry ends, if it has one.
namespace sluice {

struct EnvoyRate {
  Rate rate;
  bool unlimited = false;
  std::string unit;  // "second", …; empty: unlimited
  std::string name;  // may be empty
  int line = 0;
  std::vector<std::string> replaces = {};  // names of limits that do not apply when this one does

  // The name of the policy limit made from this one: its own name, if that is a valid name in Sluice.
  std::string policy_limit_name() const;
};

struct EnvoyDescriptor {
  std::string key;
  std::string value;  // empty: any; with a star: a wildcard
  int line = 0;
  std::optional<EnvoyRate> limit;
  bool shadow = false;
  bool shared = false;         // share_threshold: all values that match the wildcard share one counter
  bool quota = false;          // quota_mode: one such limit with room is enough to allow a request
  DocumentNode metadata = {};  // a map, or null
  std::vector<EnvoyDescriptor> children;
};

struct EnvoyDomain {
  std::string name;
  std::string file;
  int line = 0;
  std::vector<EnvoyDescriptor> descriptors;
  bool counts_denied = false;  // `compatibility: envoy`: denied requests are charged, as in the original
};

// Whether this is the top level of such a document.
bool is_envoy_document(const DocumentNode& tree);

// The problem to report for a domain that is also in another file.
Problem same_envoy_domain(const EnvoyDomain& domain, const std::string& other_file);

// Reads the text of one file. Returns no value if something is wrong; the errors are added to `problems`.
// Valid settings that Sluice ignores are added to `warnings`. The size limits are those of policy files.
// Never throws.
std::optional<EnvoyDomain> parse_envoy_document(std::string_view text, const std::string& file,
                                                Problems& problems, std::vector<Problem>& warnings);
// The same for a document that is already parsed.
std::optional<EnvoyDomain> read_envoy_document(const DocumentNode& tree, const std::string& file,
                                               Problems& problems, std::vector<Problem>& warnings);

}  // namespace sluice

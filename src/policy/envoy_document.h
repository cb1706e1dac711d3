#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "policy/document_tree.h"
#include "policy/model.h"
#include "policy/problems.h"

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
// A request's descriptor is a list of entries, each a key and a value. At every level the entry goes to the
// child with its key and value, else to the first one whose wildcard fits, else to the one with the key
// alone; there is no way back up. The limit is that of the node where the last entry ends, if it has one.
namespace sluice {

struct EnvoyRate {
  Rate rate;
  bool unlimited = false;
  std::string unit;  // "second", …; empty: unlimited
  std::string name;  // may be empty
  int line = 0;
  std::vector<std::string> replaces = {};  // names of other limits, which do not count beside this one

  // What a policy's limit is called that is made of this one: by its name if that is one of ours.
  std::string policy_limit_name() const;
};

struct EnvoyDescriptor {
  std::string key;
  std::string value;  // empty: any; a star in it: a wildcard
  int line = 0;
  std::optional<EnvoyRate> limit;
  bool shadow = false;
  bool shared = false;         // share_threshold: all values that fit the wildcard have one counter
  bool quota = false;          // quota_mode: of all such limits of a request, one with room is enough
  DocumentNode metadata = {};  // a map, or null
  std::vector<EnvoyDescriptor> children;
};

struct EnvoyDomain {
  std::string name;
  std::string file;
  int line = 0;
  std::vector<EnvoyDescriptor> descriptors;
  bool counts_denied = false;  // `compatibility: envoy`: what is denied is charged, as the original does
};

// Whether the top of a document is one of these.
bool is_envoy_document(const DocumentNode& tree);

// What is wrong with a domain that another file has, too.
Problem same_envoy_domain(const EnvoyDomain& domain, const std::string& other_file);

// Reads the text of one file. No value if something is wrong, which is added to `problems`; what is right but
// means nothing to Sluice is added to `warnings`. The bounds are those of policy files. Never throws.
std::optional<EnvoyDomain> parse_envoy_document(std::string_view text, const std::string& file,
                                                Problems& problems, std::vector<Problem>& warnings);
// The same of a document whose text has been read.
std::optional<EnvoyDomain> read_envoy_document(const DocumentNode& tree, const std::string& file,
                                               Problems& problems, std::vector<Problem>& warnings);

}  // namespace sluice

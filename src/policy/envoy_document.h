#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

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
};

struct EnvoyDescriptor {
  std::string key;
  std::string value;  // empty: any; a star in it: a wildcard
  int line = 0;
  std::optional<EnvoyRate> limit;
  bool shadow = false;
  bool shared = false;  // share_threshold: all values that fit the wildcard have one counter
  std::vector<EnvoyDescriptor> children;
};

struct EnvoyDomain {
  std::string name;
  std::string file;
  int line = 0;
  std::vector<EnvoyDescriptor> descriptors;
};

// Reads the text of one file. No value if something is wrong, which is added to `problems`; what is right but
// means nothing to Sluice is added to `warnings`. The bounds are those of policy files. Never throws.
std::optional<EnvoyDomain> parse_envoy_document(std::string_view text, const std::string& file,
                                                Problems& problems, std::vector<Problem>& warnings);

}  // namespace sluice

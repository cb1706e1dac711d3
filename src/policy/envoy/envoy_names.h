#pragma once

#include <span>
#include <string>
#include <string_view>

#include "policy/dimension.h"

// The names that descriptors of envoyproxy/ratelimit have in Sluice.
namespace sluice {

// An entry of a descriptor, in a request or in a file. `name` is what Envoy calls the key. In a file, an
// empty value means any value. In a request, the entries are the dimensions that a policy may name.
using EnvoyEntry = Dimension;

// "/a.b/x/y" for a = x, b = y: the keys, then the values. Bytes with a meaning in patterns are
// percent-encoded (%2F); an empty value is %. Different descriptors have different texts.
std::string envoy_resource(std::span<const EnvoyEntry> entries);
// The same, appended to `out`.
void append_envoy_resource(std::span<const EnvoyEntry> entries, std::string& out);
// Its first part: "/a.b".
std::string envoy_resource_keys(std::span<const EnvoyEntry> entries);

// Appends the text that identifies the counter of a descriptor whose limit comes with the request: the
// resource and the unit of the limit, "/a.b/x/y/DAY", because windows of two lengths cannot share a counter.
// If the text is longer than a resource may be, a hash replaces it.
void append_envoy_counter(std::span<const EnvoyEntry> entries, std::string_view unit, std::string& out);
// Appends the text that identifies the counter of any other descriptor: `resource_keys` and the values, or a
// hash if that is too long.
// REQUIRES: resource_keys == envoy_resource_keys(entries).
void append_envoy_counter(std::string_view resource_keys, std::span<const EnvoyEntry> entries,
                          std::string& out);

// Encodes a key, or a value that is not empty, as a part of a resource.
std::string envoy_encoded_key(std::string_view key);
std::string envoy_encoded(std::string_view value);

// The id of the policy made from a descriptor: "shop/path:login/remote_address". If a name cannot hold all of
// that, a hash of `place` keeps the ids apart. At most kNameBytesMax bytes, the suffix included.
std::string envoy_policy_id(std::string_view domain, std::span<const EnvoyEntry> path, std::string_view place,
                            std::string_view ending = {});

// Whether the text matches a pattern in which each star stands for any number of bytes, including none.
bool fits_stars(std::string_view pattern, std::string_view text);

}  // namespace sluice

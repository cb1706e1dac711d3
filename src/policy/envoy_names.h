#pragma once

#include <span>
#include <string>
#include <string_view>

#include "policy/dimension.h"

// How descriptors of envoyproxy/ratelimit are called here.
namespace sluice {

// A part of a descriptor, of a request or of a file: its name is what they call the key. Of a file, an empty
// value is any. Of a request, entries are the dimensions that a policy may name.
using EnvoyEntry = Dimension;

// "/a.b/x/y" for a = x, b = y: the keys, then the values. Bytes that mean something in patterns are written
// as %2F; an empty value is %. No two descriptors have the same text.
std::string envoy_resource(std::span<const EnvoyEntry> entries);
// The same, at the end of `out`.
void append_envoy_resource(std::span<const EnvoyEntry> entries, std::string& out);
// Its first part: "/a.b".
std::string envoy_resource_keys(std::span<const EnvoyEntry> entries);

// The text by which the counter of a descriptor is known that brings its limit along: that and the limit's
// unit, "/a.b/x/y/DAY", since windows of two lengths cannot share a counter; or a hash of it if it is longer
// than a resource may be.
void append_envoy_counter(std::span<const EnvoyEntry> entries, std::string_view unit, std::string& out);
// The text by which the counter of any other descriptor is known: `resource_keys` and the values; or a hash.
// REQUIRES: resource_keys == envoy_resource_keys(entries).
void append_envoy_counter(std::string_view resource_keys, std::span<const EnvoyEntry> entries,
                          std::string& out);

// A key, or a value that is not empty, as a part of a resource.
std::string envoy_encoded_key(std::string_view key);
std::string envoy_encoded(std::string_view value);

// The id of a policy made of a descriptor: "shop/path:login/remote_address", as far as a name can have that.
// What it cannot have is told apart by a hash of `place`. At most kNameBytesMax bytes, the ending included.
std::string envoy_policy_id(std::string_view domain, std::span<const EnvoyEntry> path, std::string_view place,
                            std::string_view ending = {});

// Whether the text fits a pattern in which each star stands for any bytes, or none.
bool fits_stars(std::string_view pattern, std::string_view text);

}  // namespace sluice

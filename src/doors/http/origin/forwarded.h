#pragma once

#include <string>
#include <string_view>

#include "base/error.h"
#include "doors/http/origin/address_set.h"

namespace sluice::doors {

// The client's address according to an X-Forwarded-For header that came from `peer`, a trusted proxy: the
// rightmost address that is not itself a trusted proxy, or the leftmost one if all are. Addresses further
// left could be forged by the client. Ports and brackets are stripped.
//
// If an entry is not an address, the hop that reported it counts as the client, in the worst case the peer.
// If there were no answer, a client that gets garbage into the header would escape every per-address limit.
IpAddress client_address(std::string_view x_forwarded_for, const IpAddress& peer, const AddressSet& trusted);

// "/search" for "/search?q=a#b" and "https://host/search"; still percent-encoded. "/" for "https://host".
std::string_view path_of_uri(std::string_view uri);

// Appends the resource name for this path of a request: decoded and normalized, since otherwise "/%73earch"
// and "//search" would evade the limits of "/search". Never appends more bytes than it reads. If the path is
// not valid percent-encoded UTF-8, returns an error about the field `resource`.
Result<void> append_resource(std::string_view path, std::string& out);

// Normalizes the decoded path that begins at `start`, in place: "//a/./b/../c" becomes "/a/c", as most
// applications see it. Otherwise each spelling of a path would have its own limit. Text that does not begin
// with a slash ("*" of OPTIONS) is left alone.
void normalize_path(std::string& text, std::size_t start);

}  // namespace sluice::doors

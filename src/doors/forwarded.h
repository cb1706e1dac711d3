#pragma once

#include <string>
#include <string_view>

#include "base/error.h"
#include "doors/address_set.h"

namespace sluice::doors {

// The client's address by an X-Forwarded-For header that came from `peer`, a trusted proxy: the rightmost
// address that is not itself a trusted proxy, or the leftmost one if all are. What stands further left could
// be the client's invention. Ports and brackets are stripped.
//
// At something that is no address, the hop that reported it counts as the client, at worst the peer: if there
// were no answer, whoever gets garbage into the header would escape every limit per address.
IpAddress client_address(std::string_view x_forwarded_for, const IpAddress& peer, const AddressSet& trusted);

// "/search" of "/search?q=a#b" or "https://host/search"; still percent-encoded. Of "https://host" it is "/".
std::string_view path_of_uri(std::string_view uri);

// Appends the resource that policies know by this path of a request: decoded, and in one form, or "/%73earch"
// and "//search" would slip past the limits of "/search". Never appends more bytes than it reads. An error,
// about the field `resource`: it is not well percent-encoded UTF-8.
Result<void> append_resource(std::string_view path, std::string& out);

// Rewrites the decoded path that begins at `start`, in place: "//a/./b/../c" is "/a/c", as most applications
// see it, too. Or each way to write a path would have a limit of its own. What does not begin with a slash
// ("*", of OPTIONS) stays.
void normalize_path(std::string& text, std::size_t start);

}  // namespace sluice::doors

#pragma once

#include "net/http/http_api.h"

namespace sluice::doors {

// Whether a browser may have sent this request for a page of another site. On a port that trusts every peer,
// such a page must not gain admin rights: neither by a form that posts here, nor by a host name of its own
// that it points to this machine (DNS rebinding).
//
// True if `Origin` or `Sec-Fetch-Site` says so, or if `Host` is a name other than localhost: clients that
// connect to this machine by its address need no name, and a proxy that passes a name on speaks for others.
bool comes_from_another_site(const net::HttpRequest& request);

// Whether a browser says that a page of another site sent this request. Such a page must not use up anyone's
// limits: it can post to this machine, or to one that only its visitor can reach, without reading the answer.
// Programs send no such headers, whatever host name they use.
bool is_sent_by_another_site(const net::HttpRequest& request);

// The same for requests of a proxy on behalf of its client, whose headers it passes on, including those that
// a browser added. A proxy also sends headers that no page can send without a preflight: X-Forwarded-*,
// X-Sluice-* and the like.
bool is_sent_by_another_site_unproxied(const net::HttpRequest& request);

// The peer, with as much trust as this request deserves.
net::Peer peer_of(const net::HttpRequest& request);

}  // namespace sluice::doors

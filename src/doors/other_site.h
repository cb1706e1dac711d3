#pragma once

#include "net/http_api.h"

namespace sluice::doors {

// Whether a browser may have sent this for a page of another site. On a port that trusts whoever reaches it,
// such a page must not become an administrator: neither by a form that posts here, nor by a name of its own
// that it lets point to this machine ("DNS rebinding").
//
// It is so if `Origin` or `Sec-Fetch-Site` says so, and if `Host` is a name other than localhost: who talks
// to this machine by its address needs none, and a proxy that passes a name on speaks for others.
bool comes_from_another_site(const net::HttpRequest& request);

// Whether a browser says that a page of another site sent this. Such a page must not use up anybody's limits:
// it can post to this machine, or to one that only its visitor reaches, without reading the answer. Programs
// say nothing of the kind, whatever they call this host.
bool is_sent_by_another_site(const net::HttpRequest& request);

// The same of what a proxy asks for the sake of a request of its own, whose headers it passes on, the
// browser's words among them. It also says what no page can say unasked: X-Forwarded-*, X-Sluice-* and the
// like.
bool is_sent_by_another_site_unproxied(const net::HttpRequest& request);

// The peer, as far as this request may be trusted.
net::Peer peer_of(const net::HttpRequest& request);

}  // namespace sluice::doors

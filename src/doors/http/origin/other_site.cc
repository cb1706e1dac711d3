#include "doors/http/origin/other_site.h"

#include <algorithm>

#include "doors/http/origin/address_set.h"

namespace sluice::doors {
namespace {

bool is_this_machine(std::string_view host) {
  if (host.starts_with('[')) {
    const std::size_t end = host.find(']');
    if (end == host.npos) return false;
    const std::string_view rest = host.substr(end + 1);
    return (rest.empty() || rest.starts_with(':')) && IpAddress::parse(host.substr(1, end - 1)).has_value();
  }
  const std::string_view name = host.substr(0, host.find(':'));
  return name == "localhost" || IpAddress::parse(name).has_value();
}

// "http://127.0.0.1:8080" is the origin of the host "127.0.0.1:8080".
bool is_origin_of(std::string_view origin, std::string_view host) {
  for (const std::string_view scheme : {"http://", "https://"})
    if (origin.starts_with(scheme) && origin.substr(scheme.size()) == host) return true;
  return false;
}

// Browsers let no page set these without a preflight, which we never grant.
bool is_of_a_proxy(const net::Header& header) {
  for (const std::string_view start : {"x-forwarded-", "x-sluice-", "x-original-", "x-real-ip", "x-envoy-"})
    if (header.name.starts_with(start)) return true;
  return header.name == "forwarded" || header.name == "via";
}

}  // namespace

bool comes_from_another_site(const net::HttpRequest& request) {
  const std::string_view host = request.header("host");
  return (!host.empty() && !is_this_machine(host)) || is_sent_by_another_site(request);
}

bool is_sent_by_another_site(const net::HttpRequest& request) {
  std::string_view host, origin, site;
  for (const net::Header& header : request.headers) {
    if (header.name == "host") host = header.value;
    if (header.name == "origin") origin = header.value;
    if (header.name == "sec-fetch-site") site = header.value;
  }
  if (site == "cross-site" || site == "same-site") return true;
  if (origin.empty()) return false;
  // On a port that only this machine can reach, a page whose own name points here is not of this site either.
  return !is_origin_of(origin, host) || (request.peer && request.peer->is_trusted && !is_this_machine(host));
}

bool is_sent_by_another_site_unproxied(const net::HttpRequest& request) {
  return is_sent_by_another_site(request) && std::ranges::none_of(request.headers, is_of_a_proxy);
}

net::Peer peer_of(const net::HttpRequest& request) {
  net::Peer peer = *request.peer;
  if (peer.is_trusted && comes_from_another_site(request)) peer.is_trusted = false;
  return peer;
}

}  // namespace sluice::doors

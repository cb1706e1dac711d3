#include "doors/other_site.h"

#include "doors/address_set.h"

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

// "http://127.0.0.1:8080" of the host "127.0.0.1:8080".
bool is_origin_of(std::string_view origin, std::string_view host) {
  for (const std::string_view scheme : {"http://", "https://"})
    if (origin.starts_with(scheme) && origin.substr(scheme.size()) == host) return true;
  return false;
}

}  // namespace

bool comes_from_another_site(const net::HttpRequest& request) {
  const std::string_view host = request.header("host"), origin = request.header("origin");
  const std::string_view site = request.header("sec-fetch-site");
  if (!host.empty() && !is_this_machine(host)) return true;
  if (!origin.empty() && !is_origin_of(origin, host)) return true;
  return site == "cross-site" || site == "same-site";
}

net::Peer peer_of(const net::HttpRequest& request) {
  net::Peer peer = *request.peer;
  if (peer.is_trusted && comes_from_another_site(request)) peer.is_trusted = false;
  return peer;
}

}  // namespace sluice::doors

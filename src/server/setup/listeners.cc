#include "server/setup/listeners.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <utility>

#include "server/command_error.h"

namespace sluice::server {
namespace {

std::string_view name_of(net::Port use) {
  switch (use) {
    case net::Port::kAdmin:
      return ", admin API on ";
    case net::Port::kRedis:
      return ", Redis protocol on ";
    case net::Port::kAll:
    case net::Port::kChecks:
      break;
  }
  return "";
}

}  // namespace

bool ListenAddress::is_loopback() const {
  const bool is_number =
      host.find_first_not_of("0123456789.") == std::string::npos;  // else a name: 127.example.com
  return host == "localhost" || host == "::1" || (is_number && host.starts_with("127."));
}

bool ListenAddress::overlaps(const ListenAddress& other) const {
  const auto takes_all = [](const ListenAddress& address) {
    return address.host == "0.0.0.0" || address.host == "::";
  };
  return port != 0 && port == other.port && (host == other.host || takes_all(*this) || takes_all(other));
}

ListenAddress parse_listen_address(const std::string& text, std::string_view flag) {
  const auto refuse = [&] {
    return CommandError(
        fmt::format("--{} {}: write HOST:PORT, for example 127.0.0.1:8080 or [::1]:8080", flag, text));
  };
  const auto colon = text.rfind(':');
  if (colon == std::string::npos) throw refuse();
  ListenAddress address{text.substr(0, colon)};
  const bool bracketed = address.host.size() > 2 && address.host.front() == '[' && address.host.back() == ']';
  if (bracketed) address.host = address.host.substr(1, address.host.size() - 2);
  if (address.host.empty() || (!bracketed && address.host.contains(':'))) throw refuse();
  const char* end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data() + colon + 1, end, address.port);
  if (error != std::errc() || stop != end) throw refuse();
  return address;
}

std::vector<net::ListenOptions> listeners(const ServeOptions& options) {
  struct Wanted {
    std::string_view flag;
    const std::string& text;
    net::Port use;
  };
  const bool own_admin_port = !options.admin_listen.empty();
  const Wanted all[] = {{"listen", options.listen, own_admin_port ? net::Port::kChecks : net::Port::kAll},
                        {"admin-listen", options.admin_listen, net::Port::kAdmin},
                        {"resp-listen", options.resp_listen, net::Port::kRedis}};
  std::vector<net::ListenOptions> listeners;
  std::vector<std::pair<ListenAddress, std::string>> taken;  // with the flag, for the error
  for (const auto& [flag, text, use] : all) {
    if (text.empty() && use != net::Port::kAll && use != net::Port::kChecks) continue;
    const ListenAddress address = parse_listen_address(text, flag);
    if (options.tls_cert.empty() && !options.allow_plaintext && !address.is_loopback())
      throw CommandError(
          fmt::format("--{} {} would send tokens and traffic over the network in plain text; give --tls-cert "
                      "and --tls-key, or --allow-plaintext if a proxy terminates TLS for Sluice",
                      flag, text));
    for (const auto& [other, other_flag] : taken)
      if (address.overlaps(other))
        throw CommandError(
            fmt::format("--{} {} and --{} use the same port; choose another", flag, text, other_flag));
    taken.emplace_back(address, fmt::format("{} {}", flag, text));
    listeners.push_back({.host = address.host,
                         .port = address.port,
                         .use = use,
                         .trusts_peers = address.is_loopback() && !options.require_token,
                         .needs_token = options.require_token});
  }
  return listeners;
}

bool trusts_admins(const std::vector<net::ListenOptions>& listeners) {
  return std::ranges::all_of(listeners, [](const net::ListenOptions& listener) {
    const bool has_admins = listener.use == net::Port::kAll || listener.use == net::Port::kAdmin;
    return listener.trusts_peers || !has_admins;
  });
}

std::string listening_text(const std::vector<net::ListenOptions>& listeners, const net::Server& server) {
  std::string text;
  for (std::size_t i = 0; i < listeners.size(); ++i) {
    const std::string& host = listeners[i].host;
    text += fmt::format(fmt::runtime(host.contains(':') ? "{}[{}]:{}" : "{}{}:{}"), name_of(listeners[i].use),
                        host, server.port(i));
  }
  return text;
}

}  // namespace sluice::server

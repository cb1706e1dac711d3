#include "server/listen_address.h"

#include <fmt/format.h>

#include <charconv>

#include "server/command_error.h"

namespace sluice::server {

bool ListenAddress::is_loopback() const {
  return host == "localhost" || host == "::1" || host.starts_with("127.");
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

}  // namespace sluice::server

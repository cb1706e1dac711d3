#include "net/http/server_url.h"

#include <algorithm>

namespace sluice::net {
namespace {

bool is_port(std::string_view text) {
  return !text.empty() && text.size() <= 5 &&
         std::ranges::all_of(text, [](char c) { return c >= '0' && c <= '9'; });
}

std::unexpected<std::string> refuse_url(std::string_view text, std::string_view why) {
  return std::unexpected(std::string(text) + std::string(why));
}

}  // namespace

std::string ServerUrl::authority() const {
  return (host.contains(':') ? '[' + host + ']' : host) + ':' + port;
}

std::expected<ServerUrl, std::string> read_server_url(std::string_view text) {
  constexpr std::string_view kHttp = "http://", kHttps = "https://",
                             kNoServer = " is not the address of a server";
  std::string_view rest = text;
  if (rest.contains('@')) return std::unexpected("contains a user or a password; give a token instead");
  const bool tls = rest.starts_with(kHttps), is_url = tls || rest.starts_with(kHttp);
  if (!is_url && rest.contains("://")) return refuse_url(text, kNoServer);
  if (is_url) rest.remove_prefix(tls ? kHttps.size() : kHttp.size());
  if (is_url && rest.ends_with('/')) rest.remove_suffix(1);

  ServerUrl url{.host = {}, .port = tls ? "443" : is_url ? "80" : "", .tls = tls};
  const bool bracketed = rest.starts_with('[');
  const std::size_t host_end = bracketed ? rest.find(']') : rest.find(':');
  url.host = rest.substr(bracketed ? 1 : 0, host_end == rest.npos ? rest.npos : host_end - bracketed);
  if (bracketed && host_end == rest.npos) return refuse_url(text, " has no closing bracket");
  rest.remove_prefix(host_end == rest.npos ? rest.size() : host_end + bracketed);
  if (rest.starts_with(':')) {
    url.port = rest.substr(1);
    rest = {};
  }
  const bool is_host = !url.host.empty() && std::ranges::none_of(url.host, [](char c) {
    return c == '/' || c == '?' || c == '#' || static_cast<unsigned char>(c) <= ' ' || c == 127;
  });
  if (!is_host || !rest.empty()) return refuse_url(text, kNoServer);
  if (!is_port(url.port)) return refuse_url(text, " has no port");
  return url;
}

}  // namespace sluice::net

#include "cli/client/server_url.h"

#include <algorithm>
#include <string_view>

#include "cli/command.h"

namespace sluice::cli {
namespace {

CommandError refuse(const std::string& why) {
  return CommandError("--server " + why +
                      "; write it as http://127.0.0.1:8080, https://HOST:PORT or HOST:PORT");
}

bool is_port(std::string_view text) {
  return !text.empty() && text.size() <= 5 &&
         std::ranges::all_of(text, [](char c) { return c >= '0' && c <= '9'; });
}

}  // namespace

std::string ServerUrl::authority() const {
  return (host.contains(':') ? '[' + host + ']' : host) + ':' + port;
}

ServerUrl parse_server_url(const std::string& text) {
  constexpr std::string_view kHttp = "http://", kHttps = "https://";
  std::string_view rest = text;
  if (rest.contains('@')) throw refuse("contains a user or a password; give a token with --token-file");
  const bool tls = rest.starts_with(kHttps), is_url = tls || rest.starts_with(kHttp);
  if (!is_url && rest.contains("://")) throw refuse(text + " is not the address of a server");
  if (is_url) rest.remove_prefix(tls ? kHttps.size() : kHttp.size());
  if (is_url && rest.ends_with('/')) rest.remove_suffix(1);

  ServerUrl url{.host = {}, .port = tls ? "443" : is_url ? "80" : "", .tls = tls};
  const bool bracketed = rest.starts_with('[');
  const std::size_t host_end = bracketed ? rest.find(']') : rest.find(':');
  url.host = rest.substr(bracketed ? 1 : 0, host_end == rest.npos ? rest.npos : host_end - bracketed);
  if (bracketed && host_end == rest.npos) throw refuse(text + " has no closing bracket");
  rest.remove_prefix(host_end == rest.npos ? rest.size() : host_end + bracketed);
  if (rest.starts_with(':')) {
    url.port = rest.substr(1);
    rest = {};
  }
  const bool is_host = !url.host.empty() && std::ranges::none_of(url.host, [](char c) {
    return c == '/' || c == '?' || c == '#' || static_cast<unsigned char>(c) <= ' ' || c == 127;
  });
  if (!is_host || !rest.empty()) throw refuse(text + " is not the address of a server");
  if (!is_port(url.port)) throw refuse(text + " has no port");
  return url;
}

}  // namespace sluice::cli

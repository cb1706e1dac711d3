#include "doors/http/origin/session_cookie.h"

#include <algorithm>

#include "doors/http/origin/other_site.h"

namespace sluice::doors {
namespace {

constexpr std::string_view kName = "sluice_session=";
constexpr std::string_view kAttributes = "; Path=/; HttpOnly; SameSite=Strict; Max-Age=";
constexpr std::string_view kSeconds = "43200";  // a working day and a half; the token may end before
constexpr std::size_t kTokenBytesMax = 1024;

std::string_view without_spaces(std::string_view text) {
  while (text.starts_with(' ')) text.remove_prefix(1);
  while (text.ends_with(' ')) text.remove_suffix(1);
  return text;
}

// The value of our cookie in "a=1; sluice_session=…; b=2"; empty: it is not there.
std::string_view session_in(std::string_view cookies) {
  while (!cookies.empty()) {
    const std::size_t end = std::min(cookies.find(';'), cookies.size());
    const std::string_view cookie = without_spaces(cookies.substr(0, end));
    if (cookie.starts_with(kName)) return cookie.substr(kName.size());
    cookies.remove_prefix(std::min(end + 1, cookies.size()));
  }
  return {};
}

// HTTP/2 may split cookies into several headers.
std::string_view session_of(const net::HttpRequest& request) {
  for (const net::Header& header : request.headers) {
    if (header.name != "cookie") continue;
    if (const std::string_view session = session_in(header.value); !session.empty()) return session;
  }
  return {};
}

}  // namespace

std::string_view authorization_of(const net::HttpRequest& request, std::string& scratch) {
  const std::string_view given = request.header("authorization");
  if (!given.empty()) return given;
  const std::string_view session = session_of(request);
  if (session.empty() || request.header("x-requested-with").empty()) return {};
  if (peer_of(request).is_trusted || is_sent_by_another_site(request)) return {};
  scratch.assign("Bearer ").append(session);
  return scratch;
}

std::string cookie_of(std::string_view token, bool is_secure) {
  std::string value(kName);
  value.append(token).append(kAttributes).append(kSeconds);
  if (is_secure) value.append("; Secure");
  return value;
}

std::string no_cookie() { return std::string(kName).append(kAttributes).append("0"); }

bool can_be_a_cookie(std::string_view token) {
  return !token.empty() && token.size() <= kTokenBytesMax && std::ranges::all_of(token, [](char c) {
    return c > ' ' && c < 127 && c != '"' && c != ',' && c != ';' && c != '\\';
  });
}

}  // namespace sluice::doors

#include "doors/http/origin/forwarded.h"

#include <algorithm>

#include "doors/http/fields/query_string.h"

namespace sluice::doors {
namespace {

std::string_view trimmed(std::string_view text) {
  const std::size_t begin = text.find_first_not_of(" \t");
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(" \t") - begin + 1);
}

// "192.0.2.1:4711", "[2001:db8::1]:4711" and "[2001:db8::1]" without their port and brackets.
std::string_view without_port(std::string_view text) {
  if (text.starts_with('[')) {
    const std::size_t close = text.find(']');
    return close == std::string_view::npos ? std::string_view() : text.substr(1, close - 1);
  }
  const std::size_t colon = text.find(':');
  const bool one_colon =
      colon != std::string_view::npos && text.find(':', colon + 1) == std::string_view::npos;
  return one_colon ? text.substr(0, colon) : text;
}

}  // namespace

IpAddress client_address(std::string_view x_forwarded_for, const IpAddress& peer, const AddressSet& trusted) {
  IpAddress nearest = peer;
  std::string_view rest = x_forwarded_for;
  for (bool more = true; more;) {
    const std::size_t comma = rest.rfind(',');
    more = comma != std::string_view::npos;
    const auto address = IpAddress::parse(without_port(trimmed(more ? rest.substr(comma + 1) : rest)));
    if (!address) return nearest;
    nearest = *address;
    if (!trusted.contains(*address)) return nearest;
    rest = rest.substr(0, more ? comma : 0);
  }
  return nearest;
}

std::string_view path_of_uri(std::string_view uri) {
  if (const std::size_t scheme = uri.find("://");
      scheme != std::string_view::npos && scheme < uri.find_first_of("/?#")) {
    uri.remove_prefix(std::min(uri.find_first_of("/?#", scheme + 3), uri.size()));
    if (!uri.starts_with('/')) return "/";
  }
  return uri.substr(0, uri.find_first_of("?#"));
}

Result<void> append_resource(std::string_view path, std::string& out) {
  const std::size_t start = out.size();
  if (!percent_decode(path, false, out))
    return invalid("resource", "the path of the request is not valid percent-encoded UTF-8");
  normalize_path(out, start);
  return {};
}

void normalize_path(std::string& text, std::size_t start) {
  if (start == text.size() || text[start] != '/') return;
  std::size_t end = start;  // of what is kept, which never ends with a slash
  bool slash_last = false;
  for (std::size_t at = start; at < text.size();) {
    const std::size_t next = std::min(text.find('/', at + 1), text.size());
    const std::string_view segment = std::string_view(text).substr(at + 1, next - at - 1);
    const bool goes_up = segment == "..";
    slash_last = goes_up || segment.empty() || segment == ".";
    if (goes_up && end > start) end = text.rfind('/', end - 1);
    if (!slash_last)
      end = static_cast<std::size_t>(std::copy(text.data() + at, text.data() + next, text.data() + end) -
                                     text.data());
    at = next;
  }
  if (slash_last) text[end++] = '/';
  text.resize(end);
}

}  // namespace sluice::doors

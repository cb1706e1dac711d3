#include "redis/url/url_parts.h"

#include <algorithm>
#include <cctype>
#include <charconv>

#include "base/limits.h"

namespace sluice::redis {
namespace {

int hex_digit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

Problem read_host(std::string_view text, std::string& host) {
  const auto good = [](unsigned char c) {
    return std::isalnum(c) != 0 || std::string_view(".-_:%").contains(static_cast<char>(c));
  };
  if (text.empty()) return "a host is missing; write host:port";
  if (text.size() > kHostBytesMax || !std::ranges::all_of(text, good))
    return "a host name may have at most 253 letters, digits, dots, hyphens and underscores";
  host = text;
  return std::nullopt;
}

}  // namespace

std::vector<std::string_view> split(std::string_view text, char by) {
  std::vector<std::string_view> parts;
  for (;;) {
    const std::size_t end = text.find(by);
    parts.push_back(text.substr(0, end));
    if (end == std::string_view::npos) return parts;
    text.remove_prefix(end + 1);
  }
}

std::optional<int> number_up_to(std::string_view text, int max) {
  int number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size() || number < 0 || number > max)
    return std::nullopt;
  return number;
}

std::optional<std::string> percent_decoded(std::string_view text) {
  std::string decoded;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '%') {
      decoded += text[i];
      continue;
    }
    if (i + 2 >= text.size() || hex_digit(text[i + 1]) < 0 || hex_digit(text[i + 2]) < 0) return std::nullopt;
    decoded += static_cast<char>(hex_digit(text[i + 1]) * 16 + hex_digit(text[i + 2]));
    i += 2;
  }
  if (decoded.contains('\0')) return std::nullopt;
  return decoded;
}

std::string percent_encoded(std::string_view text) {
  constexpr std::string_view kDigits = "0123456789ABCDEF";
  std::string encoded;
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (std::isalnum(byte) != 0) {
      encoded += c;
    } else {
      encoded += {'%', kDigits[byte >> 4], kDigits[byte & 15]};
    }
  }
  return encoded;
}

Problem read_credentials(std::string_view text, Address& address) {
  const std::size_t colon = text.find(':');
  if (colon == std::string_view::npos)
    return "write user:password@ before the host, or :password@ for the default user";
  const auto user = percent_decoded(text.substr(0, colon));
  const auto password = percent_decoded(text.substr(colon + 1));
  if (!user || !password)
    return "the user or password has a % that is not followed by two hex digits; write % itself as %25";
  address.user = *user;
  address.password = *password;
  return std::nullopt;
}

Problem read_host_and_port(std::string_view text, Address& address) {
  std::string_view host = text, port;
  if (text.starts_with('[')) {
    const std::size_t end = text.find(']');
    if (end == std::string_view::npos) return "an IPv6 address must end with ]";
    host = text.substr(1, end - 1);
    port = text.substr(end + 1);
    if (!port.empty() && port[0] != ':') return "after ] only :port is allowed";
  } else if (const std::size_t colon = text.find(':'); colon != std::string_view::npos) {
    host = text.substr(0, colon);
    port = text.substr(colon);
    if (port.substr(1).contains(':')) return "write an IPv6 address in brackets, as in [::1]:6379";
  }
  if (auto problem = read_host(host, address.host)) return problem;
  if (port.empty()) return std::nullopt;
  const auto number = number_up_to(port.substr(1), 65'535);
  if (!number || *number == 0) return "a port must be a number from 1 to 65535";
  address.port = static_cast<std::uint16_t>(*number);
  return std::nullopt;
}

Problem read_database(std::string_view text, Address& address) {
  const auto number = number_up_to(text, kRedisDatabaseMax);
  if (!number) return "the database must be a number, as in redis://host:6379/0";
  address.database = *number;
  return std::nullopt;
}

Problem read_options(std::string_view text, UrlOptions& options) {
  if (text.empty()) return std::nullopt;
  // Such an @ usually ends a password with a ? in it, and the text is no option.
  if (text.contains('@')) return "write ? in a password as %3F, and @ after the ? as %40";
  const struct {
    std::string_view name;
    std::string& value;
  } known[] = {
      {"ca", options.ca},
      {"cert", options.cert},
      {"key", options.key},
      {"server_name", options.server_name},
      {"sentinel_user", options.sentinel_user},
      {"sentinel_password", options.sentinel_password},
      {"db", options.db},
      {"read_from", options.read_from},
  };
  for (const std::string_view option : split(text, '&')) {
    const std::size_t equals = option.find('=');
    const std::string name(option.substr(0, equals));
    const auto* const found = std::ranges::find(known, name, [](const auto& each) { return each.name; });
    if (found == std::end(known)) {
      return "unknown option " + name +
             "; the options are ca, cert, key, server_name, sentinel_user, sentinel_password, db "
             "and read_from";
    }
    const auto value = percent_decoded(equals == std::string_view::npos ? "" : option.substr(equals + 1));
    if (!value)
      return "the option " + name + " has a % that is not followed by two hex digits; write % itself as %25";
    if (value->empty()) return "the option " + name + " has no value; give it one or leave it out";
    if (!found->value.empty()) return "the option " + name + " is given twice";
    found->value = *value;
  }
  return options.server_name.empty() ? std::nullopt : read_host(options.server_name, options.server_name);
}

}  // namespace sluice::redis

#include "redis/redis_url.h"

#include <charconv>
#include <optional>

namespace sluice::redis {
namespace {

constexpr std::string_view kField = "redis_url";
constexpr int kDatabaseMax = 65'535;

std::unexpected<Error> refuse(std::string message) {
  return invalid(std::string(kField), std::move(message));
}

int hex_digit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
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
  return decoded;
}

std::optional<int> number_up_to(std::string_view text, int max) {
  int number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size() || number < 0 || number > max)
    return std::nullopt;
  return number;
}

// Takes "user:password@" off the front.
Result<bool> take_credentials(std::string_view& rest, Address& address) {
  const std::size_t at = rest.rfind('@');
  if (at == std::string_view::npos) return true;
  const std::string_view both = rest.substr(0, at);
  rest.remove_prefix(at + 1);
  const std::size_t colon = both.find(':');
  const auto user = percent_decoded(both.substr(0, colon));
  const auto password = percent_decoded(colon == std::string_view::npos ? "" : both.substr(colon + 1));
  if (!user || !password)
    return refuse(
        "the user or password has a % that is not followed by two hex digits; write % itself as %25");
  if (colon == std::string_view::npos)
    return refuse("write a password as redis://:password@host or redis://user:password@host");
  address.user = *user;
  address.password = *password;
  return true;
}

Result<bool> take_host_and_port(std::string_view text, Address& address) {
  std::string_view port;
  if (text.starts_with('[')) {
    const std::size_t end = text.find(']');
    if (end == std::string_view::npos) return refuse("an IPv6 address must end with ]");
    address.host = text.substr(1, end - 1);
    port = text.substr(end + 1);
    if (!port.empty() && port[0] != ':') return refuse("after ] comes :port or nothing");
  } else {
    const std::size_t colon = text.find(':');
    address.host = text.substr(0, colon);
    port = colon == std::string_view::npos ? "" : text.substr(colon);
  }
  if (address.host.empty()) return refuse("the host is missing; write redis://host:port");
  if (port.empty()) return true;
  const auto number = number_up_to(port.substr(1), 65'535);
  if (!number || *number == 0) return refuse("the port must be a number from 1 to 65535");
  address.port = static_cast<std::uint16_t>(*number);
  return true;
}

Result<bool> take_database(std::string_view text, Address& address) {
  if (text.empty()) return true;
  const auto number = number_up_to(text, kDatabaseMax);
  if (!number) return refuse("the database must be a number, as in redis://host:6379/0");
  address.database = *number;
  return true;
}

Result<Address> parse_tcp(std::string_view rest) {
  Address address;
  if (const auto taken = take_credentials(rest, address); !taken) return std::unexpected(taken.error());
  if (rest.contains('?')) return refuse("options after ? are not known for redis://");
  const std::size_t slash = rest.find('/');
  if (const auto taken = take_host_and_port(rest.substr(0, slash), address); !taken)
    return std::unexpected(taken.error());
  const std::string_view database = slash == std::string_view::npos ? "" : rest.substr(slash + 1);
  if (const auto taken = take_database(database, address); !taken) return std::unexpected(taken.error());
  return address;
}

Result<Address> parse_unix(std::string_view rest) {
  Address address;
  if (const auto taken = take_credentials(rest, address); !taken) return std::unexpected(taken.error());
  const std::size_t question = rest.find('?');
  address.unix_path = rest.substr(0, question);
  if (!address.unix_path.starts_with('/'))
    return refuse("write the whole path, as in unix:///run/redis/redis.sock");
  if (address.unix_path.size() > 107) return refuse("the path of a unix socket has at most 107 bytes");
  if (question == std::string_view::npos) return address;
  const std::string_view option = rest.substr(question + 1);
  if (!option.starts_with("db=")) return refuse("the only option of unix:// is ?db=number");
  if (const auto taken = take_database(option.substr(3), address); !taken)
    return std::unexpected(taken.error());
  return address;
}

}  // namespace

std::string Address::to_string() const {
  const std::string who = user.empty() ? "" : user + "@";
  if (!unix_path.empty())
    return "unix://" + who + unix_path + (database ? "?db=" + std::to_string(database) : "");
  const std::string bracketed = host.contains(':') ? "[" + host + "]" : host;
  return "redis://" + who + bracketed + ":" + std::to_string(port) +
         (database ? "/" + std::to_string(database) : "");
}

Result<Address> parse_redis_url(std::string_view url) {
  const std::size_t end = url.find("://");
  const std::string_view scheme = end == std::string_view::npos ? "" : url.substr(0, end);
  const std::string_view rest = end == std::string_view::npos ? "" : url.substr(end + 3);
  if (scheme == "redis") return parse_tcp(rest);
  if (scheme == "unix") return parse_unix(rest);
  return refuse(
      (scheme.empty() ? "the URL has no scheme" : "the scheme " + std::string(scheme) + ":// is not known") +
      "; this version connects to one server, by redis://user:password@host:port/db or unix:///path");
}

}  // namespace sluice::redis

#include "redis/url/store_url.h"

#include <algorithm>
#include <utility>

#include "base/limits.h"
#include "redis/url/url_parts.h"

namespace sluice::redis {
namespace {

using Kind = StoreTarget::Kind;

struct Scheme {
  std::string_view name;
  Kind kind;
  bool tls;
};
constexpr Scheme kUnix = {"unix", Kind::kSingle, false};
constexpr Scheme kSchemes[] = {
    {"redis", Kind::kSingle, false},
    {"rediss", Kind::kSingle, true},
    {"redis+sentinel", Kind::kSentinel, false},
    {"rediss+sentinel", Kind::kSentinel, true},
    {"redis+cluster", Kind::kCluster, false},
    {"rediss+cluster", Kind::kCluster, true},
};
constexpr std::uint16_t kSentinelPort = 26379;

// A URL cut into its parts: scheme://credentials@place?options
struct Parts {
  Scheme scheme;
  std::string_view credentials;
  bool has_credentials = false;
  std::string_view place;
  UrlOptions options;
};

Problem cut(std::string_view url, Parts& parts) {
  constexpr std::string_view kForms =
      "write redis://host:port, redis+sentinel://host:port,host:port/master, "
      "redis+cluster://host:port,host:port (rediss for TLS) or unix:///path";
  const std::size_t end = url.find("://");
  if (end == std::string_view::npos) return "the store URL has no scheme; " + std::string(kForms);
  const std::string_view name = url.substr(0, end);
  const auto* const scheme = std::ranges::find(kSchemes, name, &Scheme::name);
  if (scheme == std::end(kSchemes) && name != kUnix.name)
    return "unknown scheme in the store URL; " + std::string(kForms);
  parts.scheme = name == kUnix.name ? kUnix : *scheme;
  std::string_view rest = url.substr(end + 3);
  if (const std::size_t question = rest.find('?'); question != std::string_view::npos) {
    if (auto problem = read_options(rest.substr(question + 1), parts.options)) return problem;
    rest = rest.substr(0, question);
  }
  // The last @, because people do not escape the @ in passwords.
  if (const std::size_t at = rest.rfind('@'); at != std::string_view::npos) {
    parts.has_credentials = true;
    parts.credentials = rest.substr(0, at);
    rest.remove_prefix(at + 1);
  }
  parts.place = rest;
  // Several hosts and a name, redis://s1,s2,s3/mymaster, are Sentinels, even if the scheme does not say so.
  const std::size_t slash = rest.find('/');
  const bool has_name = slash + 1 < rest.size() && !number_up_to(rest.substr(slash + 1), kRedisDatabaseMax);
  if (parts.scheme.kind == Kind::kSingle && rest.substr(0, slash).contains(',') && slash != rest.npos &&
      has_name)
    parts.scheme.kind = Kind::kSentinel;
  return std::nullopt;
}

Problem read_tls(const Parts& parts, Address& login) {
  const UrlOptions& options = parts.options;
  if (!parts.scheme.tls) {
    if (options.any_of_tls()) return "ca, cert, key and server_name need TLS; write rediss for redis";
    return std::nullopt;
  }
  if (options.cert.empty() != options.key.empty())
    return "cert and key must be given together; if one file holds both, name it for both";
  login.tls = TlsSettings{.ca_file = options.ca,
                          .certificate_file = options.cert,
                          .key_file = options.key,
                          .server_name = options.server_name};
  return std::nullopt;
}

// The same for all kinds: our login on the servers.
Problem read_login(const Parts& parts, Address& login) {
  if (parts.has_credentials) {
    // In a list, an @ here would be the end of another host's login: u:p@host1,u:p@host2.
    if (parts.scheme.kind != Kind::kSingle && parts.credentials.contains('@'))
      return "give user and password once, before the first host; write @ in a password as %40";
    if (auto problem = read_credentials(parts.credentials, login)) return problem;
  }
  if (parts.scheme.kind != Kind::kSentinel && parts.options.any_of_sentinel())
    return "sentinel_user and sentinel_password need redis+sentinel://";
  if (!parts.options.sentinel_user.empty() && parts.options.sentinel_password.empty())
    return "sentinel_user needs sentinel_password";
  return read_tls(parts, login);
}

Problem read_read_from(const Parts& parts, StoreTarget& target) {
  const std::string& where = parts.options.read_from;
  if (where.empty() || where == "master") return std::nullopt;
  if (where != "replica") return "read_from must be master or replica";
  if (parts.scheme.kind == Kind::kSingle)
    return "read_from=replica needs redis+sentinel:// or redis+cluster://";
  target.looks_at_replicas = true;
  return std::nullopt;
}

Problem read_database_once(std::string_view in_path, const UrlOptions& options, Address& login) {
  if (in_path.empty() && options.db.empty()) return std::nullopt;
  if (!in_path.empty() && !options.db.empty()) return "the database is given twice, after / and as db";
  return read_database(in_path.empty() ? std::string_view(options.db) : in_path, login);
}

Problem read_unix(const Parts& parts, StoreTarget& target) {
  if (!parts.place.starts_with('/')) return "use an absolute path, as in unix:///run/redis/redis.sock";
  if (parts.place.size() > kUnixPathBytesMax)
    return "the path of a unix socket must be at most 107 bytes long";
  if (auto problem = read_database_once("", parts.options, target.login)) return problem;
  target.addresses = {target.login};
  target.addresses[0].unix_path = parts.place;
  return std::nullopt;
}

Problem read_hosts(std::string_view list, const Address& each, std::vector<Address>& addresses) {
  const auto texts = split(list, ',');
  if (texts.size() > kRedisHostsMax)
    return "the store URL names more than " + std::to_string(kRedisHostsMax) +
           " hosts; a few are enough, the others are discovered";
  for (const std::string_view text : texts) {
    Address address = each;
    if (auto problem = read_host_and_port(text, address)) return problem;
    const auto same = std::ranges::find(addresses, address);
    if (same != addresses.end())
      return "hosts " + std::to_string(same - addresses.begin() + 1) + " and " +
             std::to_string(addresses.size() + 1) + " of the list are the same";
    addresses.push_back(std::move(address));
  }
  return std::nullopt;
}

Problem read_master_name(std::string_view text, std::string& name) {
  const auto decoded = percent_decoded(text);
  if (text.empty()) return "the master's name is missing; write redis+sentinel://host:port,host:port/master";
  if (!decoded || decoded->size() > kNameBytesMax)
    return "the master's name has a % that is not followed by two hex digits, or more than " +
           std::to_string(kNameBytesMax) + " bytes";
  name = *decoded;
  return std::nullopt;
}

Problem read_tcp(const Parts& parts, StoreTarget& target) {
  const std::size_t slash = parts.place.find('/');
  const std::string_view hosts = parts.place.substr(0, slash);
  std::string_view path = slash == std::string_view::npos ? "" : parts.place.substr(slash + 1);
  Address each;
  if (target.kind == Kind::kSentinel) {
    const std::size_t next = path.find('/');
    if (auto problem = read_master_name(path.substr(0, next), target.master_name)) return problem;
    path = next == std::string_view::npos ? "" : path.substr(next + 1);
    each = {.port = kSentinelPort,
            .user = parts.options.sentinel_user,
            .password = parts.options.sentinel_password,
            .tls = target.login.tls};
  }
  if (auto problem = read_database_once(path, parts.options, target.login)) return problem;
  if (target.kind == Kind::kCluster && target.login.database != 0) return "a Cluster has only database 0";
  if (target.kind == Kind::kSingle && hosts.contains(','))
    return "several hosts are a Cluster or Sentinels; write redis+cluster://host,host or "
           "redis+sentinel://host,host/master";
  return read_hosts(hosts, target.kind == Kind::kSentinel ? each : target.login, target.addresses);
}

Problem read(std::string_view url, StoreTarget& target) {
  if (url.size() > kStoreUrlBytesMax)
    return "the store URL has more than " + std::to_string(kStoreUrlBytesMax) + " bytes";
  Parts parts;
  if (auto problem = cut(url, parts)) return problem;
  if (auto problem = read_login(parts, target.login)) return problem;
  if (auto problem = read_read_from(parts, target)) return problem;
  target.kind = parts.scheme.kind;
  return parts.scheme.name == kUnix.name ? read_unix(parts, target) : read_tcp(parts, target);
}

}  // namespace

Address StoreTarget::server_at(std::string host, std::uint16_t port) const {
  Address address = login;
  address.host = std::move(host);
  address.port = port;
  return address;
}

std::string StoreTarget::to_string() const {
  if (kind == Kind::kSingle) return addresses.front().to_string();
  std::string text = login.tls ? "rediss+" : "redis+";
  text += kind == Kind::kCluster ? "cluster://" : "sentinel://";
  if (!login.user.empty()) text += login.user + "@";
  for (const Address& address : addresses) text += address.place() + ",";
  text.pop_back();
  if (kind == Kind::kSentinel) text += "/" + master_name;
  if (login.database != 0) text += "/" + std::to_string(login.database);
  return text;
}

Result<StoreTarget> parse_store_url(std::string_view url) {
  StoreTarget target;
  if (auto problem = read(url, target)) return invalid("store", std::move(*problem));
  return target;
}

}  // namespace sluice::redis

#include "redis/url/redis_environment.h"

#include <string>
#include <string_view>
#include <utility>

#include "base/limits.h"
#include "redis/url/url_parts.h"

namespace sluice::redis {
namespace {

constexpr const char* kUrl = "REDIS_CLUSTER_URL";
constexpr const char* kTls = "REDIS_USE_TLS";
constexpr const char* kUser = "REDIS_CLUSTER_USERNAME";
constexpr const char* kPassword = "REDIS_CLUSTER_PASSWORD";
constexpr const char* kMaxConnections = "REDIS_MAX_CONN";

std::string_view trimmed(std::string_view text) {
  constexpr std::string_view kSpace = " \t\r\n";
  const std::size_t begin = text.find_first_not_of(kSpace);
  if (begin == std::string_view::npos) return "";
  return text.substr(begin, text.find_last_not_of(kSpace) - begin + 1);
}

// The contents of REDIS_CLUSTER_URL, each part once.
struct Nodes {
  std::string hosts;        // "a:1,b:2"
  std::string credentials;  // "user:password", as in a URL
  std::optional<bool> tls;
  std::string options;  // with the ?
};

Problem add_node(std::string_view node, Nodes& nodes) {
  if (const std::size_t end = node.find("://"); end != std::string_view::npos) {
    const std::string_view scheme = node.substr(0, end);
    if (scheme != "redis" && scheme != "rediss")
      return "each node must be redis://host:port, rediss://host:port or host:port; for other stores use "
             "--store";
    const bool tls = scheme == "rediss";
    if (nodes.tls.value_or(tls) != tls) return "the nodes must be all redis:// or all rediss://";
    nodes.tls = tls;
    node.remove_prefix(end + 3);
  }
  if (const std::size_t at = node.rfind('@'); at != std::string_view::npos) {
    const std::string_view credentials = node.substr(0, at);
    if (!nodes.credentials.empty() && nodes.credentials != credentials)
      return "the nodes must have the same user and password";
    nodes.credentials = credentials;
    node.remove_prefix(at + 1);
  }
  const std::size_t slash = node.find('/');
  if (slash != std::string_view::npos && node.substr(slash) != "/" && node.substr(slash) != "/0")
    return "a Cluster has only database 0";
  nodes.hosts += (nodes.hosts.empty() ? "" : ",") + std::string(node.substr(0, slash));
  return std::nullopt;
}

Problem read_nodes(std::string_view text, Nodes& nodes) {
  if (const std::size_t question = text.find('?'); question != std::string_view::npos) {
    nodes.options = text.substr(question);
    text = text.substr(0, question);
  }
  for (const std::string_view node : split(text, ',')) {
    if (trimmed(node).empty()) return "the list has an empty entry; write host:port,host:port";
    if (auto problem = add_node(trimmed(node), nodes)) return problem;
  }
  return std::nullopt;
}

std::optional<bool> boolean(std::string_view text) {
  if (text == "true" || text == "1") return true;
  if (text == "false" || text == "0") return false;
  return std::nullopt;
}

}  // namespace

Result<std::optional<RedisEnvironment>> read_redis_environment(const EnvironmentLookup& lookup) {
  const auto get = [&](const char* name) {
    const char* value = lookup(name);
    return std::string(value == nullptr ? "" : value);
  };
  const std::string url = get(kUrl), use_tls = get(kTls), user = get(kUser), password = get(kPassword),
                    most = get(kMaxConnections);
  if (url.empty()) {
    for (const char* other : {kTls, kUser, kPassword, kMaxConnections}) {
      if (!get(other).empty())
        return invalid(other, "it is set but REDIS_CLUSTER_URL is not; set that, or unset this");
    }
    return std::nullopt;
  }

  Nodes nodes;
  if (const auto problem = read_nodes(url, nodes)) return invalid(kUrl, *problem);

  bool tls = nodes.tls.value_or(false);
  if (!use_tls.empty()) {
    const auto wanted = boolean(use_tls);
    if (!wanted) return invalid(kTls, "it must be true, false, 1 or 0");
    if (nodes.tls.value_or(*wanted) != *wanted)
      return invalid(kTls, *wanted
                               ? "it enables TLS, but REDIS_CLUSTER_URL has redis://; use rediss:// there"
                               : "it disables TLS, but REDIS_CLUSTER_URL has rediss://; use redis:// there");
    tls = *wanted;
  }

  if (!user.empty() && password.empty()) return invalid(kUser, "it needs REDIS_CLUSTER_PASSWORD");
  if (!password.empty()) {
    if (!nodes.credentials.empty())
      return invalid(kPassword,
                     "REDIS_CLUSTER_URL already has a user or password; set them in one place only");
    nodes.credentials = percent_encoded(user) + ":" + percent_encoded(password);
  }

  RedisEnvironment environment;
  if (!most.empty()) {
    environment.connections_max = number_up_to(most, kRedisConnectionsMax);
    if (environment.connections_max.value_or(0) == 0)
      return invalid(kMaxConnections,
                     "it must be a number from 1 to " + std::to_string(kRedisConnectionsMax));
  }

  const std::string at = nodes.credentials.empty() ? "" : nodes.credentials + "@";
  auto target =
      parse_store_url((tls ? "rediss+cluster://" : "redis+cluster://") + at + nodes.hosts + nodes.options);
  if (!target) return invalid(kUrl, target.error().message);
  environment.target = std::move(*target);
  return environment;
}

}  // namespace sluice::redis

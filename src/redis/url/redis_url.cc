#include "redis/url/redis_url.h"

namespace sluice::redis {

std::string Address::place() const {
  if (!unix_path.empty()) return unix_path;
  return (host.contains(':') ? "[" + host + "]" : host) + ":" + std::to_string(port);
}

std::string Address::to_string() const {
  const std::string who = user.empty() ? "" : user + "@";
  const std::string number = std::to_string(database);
  if (!unix_path.empty()) return "unix://" + who + unix_path + (database != 0 ? "?db=" + number : "");
  return (tls ? "rediss://" : "redis://") + who + place() + (database != 0 ? "/" + number : "");
}

}  // namespace sluice::redis

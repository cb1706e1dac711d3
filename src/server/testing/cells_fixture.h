#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "redis/url/store_url.h"
#include "server/cells/cells.h"

namespace sluice::server::testing {

// A Redis server of this host, or "memory".
inline StoreSettings store_at(const std::string& host) {
  StoreSettings settings{.redis = std::nullopt, .connections_max = std::nullopt, .key_prefix = "rl:"};
  if (host != "memory") settings.redis = redis::parse_store_url("redis://" + host).value();
  return settings;
}

inline Cell cell_at(const std::string& host, std::string name, std::vector<std::string> tenants,
                    std::vector<std::string> tiers = {}, WhenMoved when_moved = WhenMoved::kKeep) {
  return {std::move(name), store_at(host), std::move(tenants), std::move(tiers), when_moved};
}

inline std::shared_ptr<const Cells> make_cells(std::vector<Cell> others, const std::string& host = "home",
                                               std::string key_prefix = "rl:",
                                               std::vector<std::string> start_anew = {}) {
  StoreSettings home = store_at(host);
  home.key_prefix = std::move(key_prefix);
  return std::make_shared<const Cells>(std::move(home), std::move(others), std::move(start_anew));
}

}  // namespace sluice::server::testing

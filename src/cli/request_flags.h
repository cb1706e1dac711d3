#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <utility>
#include <vector>

namespace sluice::cli {

// The flags that describe a request, the same in every command. Plain data.
struct RequestFlags {
  std::string policy, tenant, resource, key;
  std::vector<std::string> dimensions;  // name=value

  // Splits each dimension into name and value. Throws CommandError.
  std::vector<std::pair<std::string, std::string>> named_values() const;
};

inline void add_request_flags(CLI::App& command, RequestFlags& flags) {
  command.add_option("--policy", flags.policy, "id of the policy; absent: the most specific one");
  command.add_option("--tenant", flags.tenant, "tenant");
  command.add_option("--resource", flags.resource, "resource, for example /search");
  command.add_option("--key", flags.key, "the user, address or API key");
  command.add_option("--dimension", flags.dimensions, "name=value; may be repeated");
}

}  // namespace sluice::cli

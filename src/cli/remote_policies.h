#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "cli/api_client.h"
#include "policy/model.h"

// Policies as a server's API tells them. Everything here throws CommandError when the server does not answer,
// refuses, or tells what this version cannot read.
namespace sluice::cli {

struct RemotePolicy {
  Policy policy;       // with its version
  std::string source;  // "api" or "file"
};

// All that the caller may see, by id; `tenant`: only of this one, unless it is empty.
std::vector<RemotePolicy> fetch_policies(const ApiClient& client, const std::string& tenant);
RemotePolicy fetch_policy(const ApiClient& client, const std::string& id);

// A version that was written by the API.
struct RemoteVersion {
  std::int64_t version = 0;
  std::string action, actor, reason, at;
  std::optional<Policy> policy;  // none: the policy was deleted
};

// The versions below `below`, newest first, at most `count`; nothing if there are none.
std::vector<RemoteVersion> fetch_versions(const ApiClient& client, const std::string& id, std::int64_t below,
                                          std::size_t count);
// That one. A version without a policy is an error, as is one that does not exist.
RemoteVersion fetch_version(const ApiClient& client, const std::string& id, std::int64_t version);

// The newest version below this one that is not a deletion; an error if there is none.
RemoteVersion version_before(const ApiClient& client, const std::string& id, std::int64_t version);

}  // namespace sluice::cli

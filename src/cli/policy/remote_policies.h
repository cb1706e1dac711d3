#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "cli/client/api_client.h"
#include "policy/model.h"

// Policies as reported by a server's API. Every function here throws CommandError if the server does not
// answer, refuses, or sends something that this version cannot read.
namespace sluice::cli {

struct RemotePolicy {
  Policy policy;       // with its version
  std::string source;  // "api" or "file"
};

// All policies that the caller may see, ordered by id. If `tenant` is not empty, only that tenant's policies.
std::vector<RemotePolicy> fetch_policies(const ApiClient& client, const std::string& tenant);
RemotePolicy fetch_policy(const ApiClient& client, const std::string& id);

// A version of a policy that was written through the API.
struct RemoteVersion {
  std::int64_t version = 0;
  std::string action, actor, reason, at;
  std::optional<Policy> policy;  // none: the policy was deleted
};

// Versions below `below`, newest first, at most `count`. Empty if there are none.
std::vector<RemoteVersion> fetch_versions(const ApiClient& client, const std::string& id, std::int64_t below,
                                          std::size_t count);
// One version. It is an error if the version does not exist or is a deletion.
RemoteVersion fetch_version(const ApiClient& client, const std::string& id, std::int64_t version);

// The newest version below `version` that is not a deletion. It is an error if there is none.
RemoteVersion version_before(const ApiClient& client, const std::string& id, std::int64_t version);

}  // namespace sluice::cli

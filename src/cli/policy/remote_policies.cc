#include "cli/policy/remote_policies.h"

#include <fmt/format.h>

#include "base/text/encode.h"
#include "cli/command.h"
#include "policy/document/policy_reader.h"

namespace sluice::cli {
namespace {

constexpr int kPage = 1000;

Policy to_policy(const DocumentNode& document, const std::string& id, std::int64_t version) {
  Problems problems;
  auto policy = read_policy(document, Place{id, problems});
  if (!policy)
    throw CommandError(fmt::format("the server's policy {} cannot be read by this version of sluice ({})", id,
                                   problems.list().front().text()));
  policy->version = version;
  return *std::move(policy);
}

RemotePolicy to_remote(const DocumentNode& view) {
  const std::string id = text_of(view, "id");
  return {to_policy(member_of(view, "document"), id, number_of(view, "version")), text_of(view, "source")};
}

RemoteVersion to_version(const DocumentNode& view) {
  RemoteVersion version{.version = number_of(view, "version"),
                        .action = text_of(view, "action"),
                        .actor = text_of(view, "actor"),
                        .reason = optional_text_of(view, "reason"),
                        .at = text_of(view, "at")};
  const DocumentNode& document = member_of(view, "document");
  if (document.kind != DocumentNode::Kind::kNull)
    version.policy = to_policy(document, text_of(view, "id"), version.version);
  return version;
}

}  // namespace

std::vector<RemotePolicy> fetch_policies(const ApiClient& client, const std::string& tenant) {
  std::vector<RemotePolicy> policies;
  std::string path = fmt::format("/v1/policies?limit={}", kPage);
  if (!tenant.empty()) path += "&tenant_id=" + percent_encode(tenant);
  for (std::string after;;) {
    const DocumentNode page =
        client.call({.path = after.empty() ? path : path + "&after=" + percent_encode(after)});
    for (const DocumentNode& view : list_of(page, "policies")) policies.push_back(to_remote(view));
    after = optional_text_of(page, "next");
    if (after.empty()) return policies;
  }
}

RemotePolicy fetch_policy(const ApiClient& client, const std::string& id) {
  return to_remote(client.call({.path = "/v1/policies/" + percent_encode(id)}));
}

std::vector<RemoteVersion> fetch_versions(const ApiClient& client, const std::string& id, std::int64_t below,
                                          std::size_t count) {
  const DocumentNode page = client.call(
      {.path = fmt::format("/v1/policies/{}/versions?below={}&limit={}", percent_encode(id), below, count)});
  std::vector<RemoteVersion> versions;
  for (const DocumentNode& view : list_of(page, "versions")) versions.push_back(to_version(view));
  return versions;
}

RemoteVersion fetch_version(const ApiClient& client, const std::string& id, std::int64_t version) {
  auto found = fetch_versions(client, id, version + 1, 1);
  if (found.empty() || found.front().version != version)
    throw CommandError(fmt::format(
        "policy {} has no version {}; `sluice policy show {} --versions` lists them", id, version, id));
  if (!found.front().policy)
    throw CommandError(fmt::format("version {} of policy {} is its deletion; name another one", version, id));
  return std::move(found.front());
}

RemoteVersion version_before(const ApiClient& client, const std::string& id, std::int64_t version) {
  constexpr std::size_t kAtATime = 100;
  for (std::int64_t below = version; below > 1;) {
    auto found = fetch_versions(client, id, below, kAtATime);
    for (RemoteVersion& each : found)
      if (each.policy) return std::move(each);
    if (found.empty()) break;
    below = found.back().version;
  }
  throw CommandError(fmt::format("policy {} has no version before {}", id, version));
}

}  // namespace sluice::cli

#include "library/fixed_policies.h"

#include <utility>

#include "policy/files/policy_files.h"
#include "policy/snapshot/catalog.h"
#include "policy/warnings/denies_everyone.h"

namespace sluice::library {
namespace {

std::string joined(const Problems& problems) {
  std::string text;
  for (const std::string& line : problems.texts()) text.append(text.empty() ? "" : "\n").append(line);
  return text;
}

std::vector<PolicyFile> read(const PolicySource& source, Problems& problems) {
  if (!source.text.empty()) return {{"policies", source.text}};
  if (!source.file.empty()) return read_policy_files({source.file}, problems);
  problems.add({"", 0, "policies", "give their text or the name of a file"});
  return {};
}

std::vector<WrittenPolicy> parse(const PolicySource& source, Problems& problems) {
  const std::vector<PolicyFile> files = read(source, problems);
  if (!problems.empty()) return {};
  std::vector<WrittenPolicy> written = parse_plain_policy_files(files, problems);
  if (!source.may_deny_everyone) refuse_denying_everyone(written, "set may_deny_everyone", problems);
  return written;
}

}  // namespace

std::expected<std::unique_ptr<FixedPolicies>, std::string> FixedPolicies::load(const PolicySource& source,
                                                                               int nodes) {
  Problems problems;
  std::vector<WrittenPolicy> written = parse(source, problems);
  if (!problems.empty()) return std::unexpected(joined(problems));
  std::vector<Policy> policies;
  for (WrittenPolicy& one : written) policies.push_back(std::move(one.policy));

  std::unique_ptr<FixedPolicies> fixed(new FixedPolicies());
  PolicyCatalog catalog(fixed->in_force_, fixed->params_, {.nodes = nodes});
  if (const auto in_force = catalog.replace_files(std::move(policies)); !in_force)
    return std::unexpected(in_force.error().message);
  fixed->in_force_.current()->policies().for_each([&texts = fixed->version_texts_](const auto& policy) {
    if (texts.size() <= policy->index) texts.resize(policy->index + 1);
    texts[policy->index] = policy->version_text();
  });
  return fixed;
}

}  // namespace sluice::library

#include "loadgen/run/direct_parts.h"

#include <fstream>
#include <iterator>
#include <utility>
#include <vector>

#include "policy/document/policy_document.h"

namespace sluice::loadgen {

std::expected<void, std::string> DirectParts::load_policies(const std::string& file_name) {
  std::ifstream file(file_name, std::ios::binary);
  if (!file) return std::unexpected("cannot read '" + file_name + "'.");
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  std::vector<WrittenPolicy> written;
  Problems problems;
  parse_policies(text, file_name, written, problems);
  if (problems.empty()) check_together(written, problems);
  if (!problems.empty()) return std::unexpected(problems.list().front().text());
  std::vector<Policy> policies;
  for (WrittenPolicy& policy : written) policies.push_back(std::move(policy.policy));
  auto snapshot = Snapshot::compile(std::move(policies), params);
  if (!snapshot) return std::unexpected(snapshot.error().message);
  snapshots.publish(*snapshot);
  return {};
}

CheckSource::CheckSource(const BenchOptions& options, std::uint32_t thread)
    : keys_(options.keys, options.distribution, options.seed + thread),
      dimension_{options.shape.dimension, {key_, sizeof key_}} {
  request_.policy_id = options.shape.policy_id;
  request_.tenant = options.shape.tenant;
  request_.resource = options.shape.resource;
  if (options.shape.dimension == "key") {
    request_.key = dimension_.value;
  } else {
    request_.dimensions = {&dimension_, 1};
  }
}

const CheckRequest& CheckSource::next() {
  write_key_digits(key_ + 1, keys_.next());
  return request_;
}

}  // namespace sluice::loadgen

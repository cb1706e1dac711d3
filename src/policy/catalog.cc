#include "policy/catalog.h"

#include <utility>

namespace sluice {
namespace {

std::string position(std::size_t i) { return "policies[" + std::to_string(i) + "].id"; }

}  // namespace

Result<void> PolicyCatalog::replace_files(std::vector<Policy> policies, EnvoyDomains envoy_domains) {
  const std::lock_guard lock(mutex_);
  const auto before = board_.current();
  PolicyChange change;
  std::unordered_set<std::string> ids;
  for (std::size_t i = 0; i < policies.size(); ++i) {
    const CompiledPolicy* const known = before->find(policies[i].id);
    if (known && !from_files_.contains(policies[i].id))
      return std::unexpected(
          Error{ErrorCode::kConflict,
                "the id \"" + policies[i].id +
                    "\" belongs to a policy made by the API; choose another, or delete that one",
                position(i)});
    ids.insert(policies[i].id);
    if (!known || known->source != policies[i]) change.put.push_back(std::move(policies[i]));
  }
  change.envoy_domains = std::move(envoy_domains);
  for (const std::string& id : from_files_)
    if (!ids.contains(id)) change.remove.push_back(id);
  auto snapshot = before->with(std::move(change), params_, options_);
  if (!snapshot) return std::unexpected(std::move(snapshot.error()));
  from_files_ = std::move(ids);
  board_.publish(std::move(*snapshot));
  return {};
}

std::string on_its_way_text(const std::string& id) {
  return "policy \"" + id + "\" has a rollout under way; abort or finish that first, at /v1/policies/" + id +
         "/rollout";
}

Result<void> PolicyCatalog::refuse_file_policies(const PolicyChange& change) const {
  const auto refuse = [](const std::string& id, std::string field) {
    return std::unexpected(Error{
        ErrorCode::kConflict, "policy \"" + id + "\" comes from a file; change it there", std::move(field)});
  };
  for (std::size_t i = 0; i < change.put.size(); ++i)
    if (from_files_.contains(change.put[i].id)) return refuse(change.put[i].id, position(i));
  for (const std::string& id : change.remove)
    if (from_files_.contains(id)) return refuse(id, "");
  return {};
}

Result<void> PolicyCatalog::refuse_policies_on_their_way(const PolicyChange& change) const {
  const auto snapshot = board_.current();
  const auto refuse = [](const std::string& id, std::string field) {
    return std::unexpected(Error{ErrorCode::kConflict, on_its_way_text(id), std::move(field)});
  };
  const auto candidate_of = [&](const std::string& id) {
    const CompiledPolicy* const policy = snapshot->find(id);
    return policy ? policy->candidate.get() : nullptr;
  };
  for (std::size_t i = 0; i < change.put.size(); ++i) {
    const CompiledCandidate* const candidate = candidate_of(change.put[i].id);
    if (!candidate) continue;
    Policy finished = candidate->policy().source;
    finished.version = change.put[i].version;
    if (change.put[i] != finished) return refuse(change.put[i].id, position(i));
  }
  for (const std::string& id : change.remove)
    if (candidate_of(id)) return refuse(id, "");
  return {};
}

Result<PolicyChange> PolicyCatalog::change_with(Candidate candidate) const {
  const std::string& id = candidate.policy.id;
  const auto snapshot = board_.current();
  const CompiledPolicy* const policy = snapshot->find(id);
  if (!policy) return std::unexpected(Error{ErrorCode::kNotFound, "there is no policy \"" + id + '"', ""});
  PolicyChange change;
  change.put.push_back(policy->source);
  if (auto allowed = refuse_file_policies(change); !allowed) return std::unexpected(allowed.error());
  change.candidates.push_back(std::move(candidate));
  return change;
}

Result<void> PolicyCatalog::put_candidate(Candidate candidate) {
  const std::lock_guard lock(mutex_);
  auto change = change_with(std::move(candidate));
  if (!change) return std::unexpected(std::move(change.error()));
  auto snapshot = board_.current()->with(std::move(*change), params_, options_);
  if (!snapshot) return std::unexpected(std::move(snapshot.error()));
  board_.publish(std::move(*snapshot));
  return {};
}

Result<void> PolicyCatalog::try_candidate(Candidate candidate) const {
  const std::lock_guard lock(mutex_);
  auto change = change_with(std::move(candidate));
  if (!change) return std::unexpected(std::move(change.error()));
  return board_.current()->check(std::move(*change), params_, options_);
}

Result<void> PolicyCatalog::remove_candidate(const std::string& id) {
  const std::lock_guard lock(mutex_);
  const auto before = board_.current();
  const CompiledPolicy* const policy = before->find(id);
  if (!policy || !policy->candidate) return {};
  PolicyChange change;
  change.put.push_back(policy->source);
  auto snapshot = before->with(std::move(change), params_, options_);
  if (!snapshot) return std::unexpected(std::move(snapshot.error()));
  board_.publish(std::move(*snapshot));
  return {};
}

Result<void> PolicyCatalog::change(PolicyChange change) {
  const std::lock_guard lock(mutex_);
  if (auto allowed = refuse_file_policies(change); !allowed) return allowed;
  auto snapshot = board_.current()->with(std::move(change), params_, options_);
  if (!snapshot) return std::unexpected(std::move(snapshot.error()));
  board_.publish(std::move(*snapshot));
  return {};
}

Result<void> PolicyCatalog::try_change(PolicyChange change) const {
  const std::lock_guard lock(mutex_);
  if (auto allowed = refuse_file_policies(change); !allowed) return allowed;
  if (auto allowed = refuse_policies_on_their_way(change); !allowed) return allowed;
  return board_.current()->check(std::move(change), params_, options_);
}

bool PolicyCatalog::is_from_file(std::string_view id) const {
  const std::lock_guard lock(mutex_);
  return from_files_.contains(std::string(id));
}

}  // namespace sluice

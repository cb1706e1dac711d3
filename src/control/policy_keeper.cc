#include "control/policy_keeper.h"

#include <utility>

#include "policy/document.h"
#include "policy/user_document.h"

namespace sluice::control {
namespace {

Result<Policy> read_policy(std::string_view body, const std::string& name, std::int64_t version) {
  Problems problems;
  auto policy = parse_policy(body, name, problems);
  if (!policy) return std::unexpected(problems.first_error());
  if (policy->id != name)
    return invalid("id", "the document's id is \"" + policy->id + "\", not \"" + name + '"');
  policy->version = version;
  return *std::move(policy);
}

Result<User> read_user(std::string_view body, const std::string& name) {
  Problems problems;
  auto user = parse_user(body, name, problems);
  if (!user) return std::unexpected(problems.first_error());
  return *std::move(user);
}

}  // namespace

Result<void> PolicyKeeper::check(std::span<const ledger::Draft* const> drafts) {
  PolicyChange change;
  for (const ledger::Draft* draft : drafts) {
    if (draft->body.empty()) {
      change.remove.push_back(draft->name);
      continue;
    }
    auto policy = read_policy(draft->body, draft->name, 1);
    if (!policy) return std::unexpected(policy.error());
    change.put.push_back(std::move(*policy));
  }
  return catalog_.try_change(std::move(change));
}

// In the order of the ledger, so that of two policies for one place every node chooses the same. One that
// cannot be read is left alone: what is in force under its name stays.
std::map<std::string, std::string> PolicyKeeper::apply(std::span<const ledger::Record* const> records) {
  std::map<std::string, std::string> problems;
  std::vector<PolicyCatalog::Step> steps;
  for (const ledger::Record* record : records) {
    if (record->is_withdrawn()) {
      steps.push_back({record->name, std::nullopt});
      continue;
    }
    auto policy = read_policy(record->body, record->name, record->version);
    if (policy)
      steps.push_back({record->name, std::move(*policy)});
    else
      problems[record->name] = "policy \"" + record->name + "\", version " + std::to_string(record->version) +
                               ", cannot be read: " + policy.error().message;
  }
  for (const auto& [name, error] : catalog_.change_in_order(std::move(steps)))
    problems[name] = "policy \"" + name + "\" of the database is not in force: " + error.message;
  return problems;
}

Result<void> UserKeeper::check(std::span<const ledger::Draft* const> drafts) {
  for (const ledger::Draft* draft : drafts)
    if (!draft->body.empty())
      if (const auto user = read_user(draft->body, draft->name); !user) return std::unexpected(user.error());
  return {};
}

std::map<std::string, std::string> UserKeeper::apply(std::span<const ledger::Record* const> records) {
  std::map<std::string, std::string> problems;
  PolicyChange change;
  for (const ledger::Record* record : records) {
    if (record->is_withdrawn()) {
      change.remove_users.push_back(record->name);
      continue;
    }
    auto user = read_user(record->body, record->name);
    if (user)
      change.put_users.push_back(std::move(*user));
    else
      problems[record->name] = "user \"" + record->name + "\" cannot be read: " + user.error().message;
  }
  if (const auto changed = catalog_.change(std::move(change)); !changed)
    problems[""] = changed.error().message;
  return problems;
}

}  // namespace sluice::control

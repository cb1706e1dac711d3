#include "control/policy_registry.h"

#include <set>
#include <utility>

#include "base/try.h"
#include "policy/change_words.h"
#include "policy/document/policy_document.h"
#include "policy/document/user_document.h"
#include "policy/matching/tenant_policies.h"
#include "policy/snapshot/limits_per_request.h"

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

// One check can use all overrides of a user on the policies of its tenant and on those for any tenant, and
// long logs cost everybody the store's time. Tenants are counted one by one: none uses up a user's share for
// others.
Result<void> check_logs(const User& user, const Snapshot& policies) {
  std::map<std::string_view, std::int64_t> entries;  // by tenant; "": of policies for any tenant
  for (const Override& each : user.overrides) {
    if (each.params.algorithm != Algorithm::kSlidingLog) continue;
    const CompiledPolicy* const policy = policies.find(each.policy_id);
    entries[policy ? std::string_view(policy->source.tenant) : ""] += each.params.capacity;
  }
  const std::int64_t of_any = entries[""];
  for (const auto& [tenant, of_tenant] : entries) {
    const std::int64_t together = tenant.empty() ? of_any : of_any + of_tenant;
    if (together > static_cast<std::int64_t>(kLogEntriesPerTenantMax))
      return invalid("limit", "the overrides of user \"" + user.id + "\" would have " +
                                  std::to_string(together) +
                                  " entries of sliding_logs together; the limit is " +
                                  std::to_string(kLogEntriesPerTenantMax) + "; use smaller ones");
  }
  return {};
}

std::string not_in_force(const std::string& name, const std::string& why) {
  return "policy \"" + name + "\" from the database is not in force: " + why;
}

}  // namespace

Result<void> PolicyRegistry::check(std::span<const ledger::Draft* const> drafts) {
  PolicyChange change;
  BodyBytes put_bytes;
  std::vector<std::uint32_t> positions;  // in `drafts`, of those in change.put
  for (std::uint32_t i = 0; i < drafts.size(); ++i) {
    if (drafts[i]->body.empty()) {
      change.remove.push_back(drafts[i]->name);
      continue;
    }
    auto policy = SLUICE_TRY(read_policy(drafts[i]->body, drafts[i]->name, 1));
    change.put.push_back(std::move(policy));
    positions.push_back(i);
    put_bytes[drafts[i]->name] = drafts[i]->body.size();
  }
  SLUICE_TRY(check_shares(change, put_bytes));
  auto fits = catalog_.try_change(std::move(change));
  if (!fits && fits.error().item) fits.error().item = positions[*fits.error().item];
  return fits;
}

// The admins of one tenant must not use up what all tenants share.
Result<void> PolicyRegistry::check_shares(const PolicyChange& change, const BodyBytes& put_bytes) const {
  const auto snapshot = catalog_.current();
  std::set<std::string_view> changed(change.remove.begin(), change.remove.end());
  std::map<std::string_view, std::vector<const Policy*>> put_of;  // by tenant
  for (const Policy& policy : change.put) {
    changed.insert(policy.id);
    if (!policy.tenant.empty()) put_of[policy.tenant].push_back(&policy);
  }
  for (const auto& [tenant, put] : put_of) {
    LimitsPerRequests limits_per_request;
    auto count = static_cast<std::int64_t>(put.size());
    std::size_t bytes = 0;
    for (const Policy* policy : put) {
      bytes += put_bytes.find(policy->id)->second;
      limits_per_request[policy->shadow].add(*policy);
    }
    if (const TenantPolicies* const now = snapshot->policies_of(tenant))
      for (const auto& policy : now->policies()) {
        if (changed.contains(policy->name()) || catalog_.is_from_file(policy->name())) continue;
        ++count;
        if (const auto found = body_bytes_.find(policy->name()); found != body_bytes_.end())
          bytes += found->second;
        limits_per_request[policy->shadow].add(policy->source);
      }
    if (count > options_.per_tenant)
      return invalid("tenant", "tenant \"" + std::string(tenant) + "\" would have " + std::to_string(count) +
                                   " policies; the limit is " + std::to_string(options_.per_tenant) +
                                   " (--policies-per-tenant)");
    if (bytes > kPolicyBytesPerTenantMax)
      return invalid("tenant", "the policies of tenant \"" + std::string(tenant) + "\" would have " +
                                   std::to_string(bytes) + " bytes together; the limit is " +
                                   std::to_string(kPolicyBytesPerTenantMax));
    for (const LimitsPerRequest& most : limits_per_request) {
      if (most.limits.all() > kLimitsPerTenantMax)
        return invalid("limits", "policies of tenant \"" + std::string(tenant) + "\" could apply " +
                                     std::to_string(most.limits.all()) +
                                     " limits to one request; the limit per tenant is " +
                                     std::to_string(kLimitsPerTenantMax) +
                                     "; use fewer limits in `always` policies");
      if (most.log_entries.all() > kLogEntriesPerTenantMax)
        return invalid("limits", "policies of tenant \"" + std::string(tenant) + "\" could apply " +
                                     std::to_string(most.log_entries.all()) +
                                     " entries of sliding_logs to one request; the limit per tenant is " +
                                     std::to_string(kLogEntriesPerTenantMax) +
                                     "; use smaller sliding_logs, or sliding_window");
    }
  }
  return {};
}

// A policy that cannot be parsed is skipped: what is in force under its name stays.
std::map<std::string, std::string> PolicyRegistry::apply(std::span<const ledger::Record* const> records) {
  std::map<std::string, std::string> problems;
  std::vector<PolicyCatalog::Step> steps;
  const auto before = catalog_.current();
  for (const ledger::Record* record : records) {
    if (record->is_withdrawn()) {
      body_bytes_.erase(record->name);
      steps.push_back({record->name, std::nullopt});
      continue;
    }
    body_bytes_[record->name] = record->body.size();
    auto policy = read_policy(record->body, record->name, record->version);
    if (policy)
      steps.push_back({record->name, std::move(*policy)});
    else
      problems[record->name] = "policy \"" + record->name + "\", version " + std::to_string(record->version) +
                               ", cannot be read: " + policy.error().message;
  }
  for (const auto& [name, why] : catalog_.change_ledger(std::move(steps)))
    problems.try_emplace(name, not_in_force(name, why));
  log_changes(records, *before);
  return problems;
}

// Policies that were already in force come again whenever a conflict may have been resolved; they are not
// logged.
void PolicyRegistry::log_changes(std::span<const ledger::Record* const> records,
                                 const Snapshot& before) const {
  const auto now = catalog_.current();
  std::vector<std::string> changed, withdrawn;
  for (const ledger::Record* record : records) {
    if (catalog_.is_from_file(record->name)) continue;
    const CompiledPolicy *const was = before.find(record->name), *const is = now->find(record->name);
    if (is && (!was || was->source.version != is->source.version))
      changed.push_back(is->version_text());
    else if (was && !is)
      withdrawn.push_back(was->version_text());
  }
  if (changed.empty() && withdrawn.empty()) return;
  std::string sentence = "from the policy database: " + counted(changed.size(), "policy", "policies") +
                         " new or changed" + listed(changed);
  if (!withdrawn.empty())
    sentence += "; " + std::to_string(withdrawn.size()) + " no longer in force" + listed(withdrawn);
  options_.log(LogEvent::kPoliciesChanged, sentence);
}

Result<void> UserRegistry::check(std::span<const ledger::Draft* const> drafts) {
  PolicyChange change;
  const auto policies = catalog_.current();
  for (const ledger::Draft* draft : drafts) {
    if (draft->body.empty()) continue;
    auto user = SLUICE_TRY(read_user(draft->body, draft->name));
    SLUICE_TRY(check_logs(user, *policies));
    change.put_users.push_back(std::move(user));
  }
  return catalog_.try_change(std::move(change));
}

std::map<std::string, std::string> UserRegistry::apply(std::span<const ledger::Record* const> records) {
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
  std::vector<User> users = std::exchange(change.put_users, {});
  if (!change.remove_users.empty())
    if (const auto removed = catalog_.change(std::move(change)); !removed)
      problems[""] = removed.error().message;
  put(users, problems);
  return problems;
}

// All at once; if that fails, each half separately, until only those that cannot come into force are left
// out.
void UserRegistry::put(std::span<const User> users, std::map<std::string, std::string>& problems) {
  if (users.empty()) return;
  PolicyChange change;
  change.put_users.assign(users.begin(), users.end());
  const auto changed = catalog_.change(std::move(change));
  if (changed) return;
  if (users.size() == 1) {
    problems[users[0].id] = "user \"" + users[0].id + "\" is not in force: " + changed.error().message;
    return;
  }
  put(users.first(users.size() / 2), problems);
  put(users.subspan(users.size() / 2), problems);
}

}  // namespace sluice::control

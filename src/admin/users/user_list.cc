#include <algorithm>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "admin/policies/policy_views.h"
#include "admin/routes.h"
#include "base/try.h"
#include "document/document_builder.h"
#include "policy/document/user_document.h"

namespace sluice::admin {
namespace {

// What a call asks for of the users, and may see. Not thread-safe.
class UserFilter {
 public:
  UserFilter(AdminContext& context, const AdminCall& call)
      : snapshot_(context.catalog.current()),
        principal_(call.principal),
        now_us_(context.clock.now_us()),
        tenant_(call.parameter("tenant_id")),
        policy_(call.parameter("policy_id")),
        tier_(call.parameter("tier")),
        takes_all_(principal_.sees_tenant("") && tenant_.empty() && policy_.empty()) {
    // Tiers belong to no tenant: a caller may know of those that a policy has which they may see.
    if (takes_all_) return;
    snapshot_->policies().for_each([this](const PolicyPointer& policy) {
      if (!takes(policy->source)) return;
      for (const auto& [name, limits] : policy->source.tiers) tiers_.insert(name);
    });
  }

  // The user with those of their agreements that are asked for and still in effect; none: without any.
  std::optional<User> operator()(const User& user) const {
    User shown{
        .id = user.id, .tier = takes_all_ || tiers_.contains(user.tier) ? user.tier : "", .overrides = {}};
    if (!tier_.empty() && shown.tier != tier_) return std::nullopt;
    for (const Override& each : user.overrides)
      if (is_in_effect(each) && takes_policy(each.policy_id)) shown.overrides.push_back(each);
    if (shown.tier.empty() && shown.overrides.empty()) return std::nullopt;
    return shown;
  }

 private:
  bool is_in_effect(const Override& each) const { return each.expires_us == 0 || now_us_ < each.expires_us; }
  bool takes(const Policy& policy) const {
    return principal_.sees_tenant(policy.tenant) && (tenant_.empty() || policy.tenant == tenant_) &&
           (policy_.empty() || policy.id == policy_);
  }
  // Overrides of policies that are not in force are for callers who may see everything.
  bool takes_policy(const std::string& id) const {
    if (takes_all_) return true;
    const CompiledPolicy* const policy = snapshot_->find(id);
    return policy && takes(policy->source);
  }

  const std::shared_ptr<const Snapshot> snapshot_;
  const control::Principal& principal_;
  const std::int64_t now_us_;
  const std::string_view tenant_, policy_, tier_;
  const bool takes_all_;
  std::set<std::string, std::less<>> tiers_;
};

DocumentNode user_view(const User& user) {
  std::string document;
  write_user(user, document);
  Problems unused;
  DocumentNode view = map_node();
  put(view, "user_id", text_node(user.id));
  put(view, "agreed", *parse_document_tree(document, user.id, unused));
  return view;
}

}  // namespace

Result<AdminAnswer> list_users(AdminContext& context, const AdminCall& call) {
  const auto limit = static_cast<std::size_t>(SLUICE_TRY(call.number("limit", 1, kPageMax, kPageDefault)));
  const std::string_view after = call.parameter("after");
  const UserFilter filter(context, call);
  const auto snapshot = context.catalog.current();  // keeps the users alive
  std::vector<const User*> users;
  snapshot->users().for_each([&](const auto& user) {
    if (user->source.id > after && filter(user->source)) users.push_back(&user->source);
  });
  const auto end = users.begin() + static_cast<std::ptrdiff_t>(std::min(limit, users.size()));
  std::ranges::partial_sort(users, end, {}, &User::id);

  PageItems items;
  std::string last;
  for (auto each = users.begin(); each != end; ++each) {
    if (!items.add(user_view(*filter(**each)))) break;
    last = (*each)->id;
  }
  AdminAnswer answer;
  answer.body = map_node();
  const bool is_last_page = items.size() == std::ssize(users);
  put(answer.body, "users", items.take());
  put(answer.body, "next", is_last_page ? null_node() : text_node(last));
  return answer;
}

}  // namespace sluice::admin

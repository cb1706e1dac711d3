#include "admin/policy_views.h"

#include "policy/denies_everyone.h"
#include "policy/document_builder.h"
#include "policy/policy_writer.h"

namespace sluice::admin {

Result<void> refuse_denying_everyone(const AdminCall& call, const Policy& policy) {
  if (!denies_everyone(policy) || call.parameter("confirm") == "deny-everyone") return {};
  return invalid("limits",
                 "policy \"" + policy.id +
                     "\" would deny every request of everybody; if that is meant, send it again with "
                     "?confirm=deny-everyone (over gRPC: with the metadata confirm: deny-everyone)");
}

Result<void> may_write(const AdminCall& call, const Policy& policy, const CompiledPolicy* old) {
  auto may = call.principal.may(control::Role::kWrite, policy.tenant);
  return may && old ? call.principal.may(control::Role::kWrite, old->source.tenant) : may;
}

Result<PolicyPointer> find_policy(AdminContext& context, const AdminCall& call, std::string_view id) {
  const auto snapshot = context.catalog.current();
  const PolicyPointer* const found = snapshot->policies().find_pointer(id);
  if (!found || !call.principal.sees_tenant((*found)->source.tenant))
    return std::unexpected(Error{ErrorCode::kNotFound, "there is no policy \"" + std::string(id) + '"', ""});
  return *found;
}

Result<std::vector<ledger::Record>> put_policies(AdminContext& context, const AdminCall& call,
                                                 const std::vector<Policy>& policies,
                                                 std::optional<std::int64_t> expected,
                                                 std::string_view action) {
  std::vector<ledger::Draft> drafts;
  const auto before = context.catalog.current();
  for (const Policy& policy : policies) {
    const CompiledPolicy* const old = before->find(policy.id);
    if (auto may = may_write(call, policy, old); !may) return std::unexpected(may.error());
    if (auto fine = refuse_denying_everyone(call, policy); !fine) return std::unexpected(fine.error());
    // Whatever it says: even the candidate itself comes into force only together with its rollout's end.
    if (old && old->candidate)
      return std::unexpected(
          Error{ErrorCode::kConflict, on_its_way_text(policy.id), policies.size() == 1 ? "id" : ""});
    ledger::Draft& draft = drafts.emplace_back();
    draft.kind = ledger::Kind::kPolicy;
    draft.name = policy.id;
    draft.action = action;
    write_policy(policy, draft.body);
    draft.expected_version = expected;
  }
  auto written = context.write(call, std::move(drafts));
  if (!written && policies.size() == 1) return std::unexpected(about_one_policy(std::move(written.error())));
  return written;
}

Result<std::vector<ledger::Record>> delete_policy(AdminContext& context, const AdminCall& call,
                                                  const std::string& id, const std::string& tenant,
                                                  std::optional<std::int64_t> expected) {
  if (auto may = call.principal.may(control::Role::kWrite, tenant); !may) return std::unexpected(may.error());
  return context.write(call, {{.kind = ledger::Kind::kPolicy,
                               .name = id,
                               .action = "delete",
                               .body = "",
                               .expected_version = expected}});
}

bool deleted_before(AdminContext& context, const AdminCall& call, const std::string& id) {
  const auto before = context.written_before(call, ledger::Kind::kPolicy, id);
  return before && *before && (*before)->is_withdrawn();
}

DocumentNode policy_view(AdminContext& context, const CompiledPolicy& policy) {
  DocumentNode view = map_node();
  put(view, "id", text_node(policy.source.id));
  put(view, "version", number_node(policy.source.version));
  put(view, "source", text_node(context.catalog.is_from_file(policy.source.id) ? "file" : "api"));
  put(view, "document", policy_document(policy.source));
  return view;
}

Error about_one_policy(Error error) {
  constexpr std::string_view kList = "policies[0]";
  if (error.field.starts_with(kList))
    error.field.erase(0, kList.size() + (error.field.size() > kList.size()));
  return error;
}

}  // namespace sluice::admin

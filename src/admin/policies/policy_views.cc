#include "admin/policies/policy_views.h"

#include <algorithm>

#include "base/limits/control_limits.h"
#include "document/document_builder.h"
#include "document/document_text.h"
#include "document/literals.h"
#include "policy/document/policy_document.h"
#include "policy/document/policy_writer.h"
#include "policy/warnings/denies_everyone.h"
#include "policy/warnings/policy_warnings.h"

namespace sluice::admin {

Error no_such_policy(std::string_view id) {
  return {ErrorCode::kNotFound, "there is no policy \"" + std::string(id) + '"', ""};
}

std::optional<std::string> tenant_of_policy(AdminContext& context, std::string_view id) {
  const auto snapshot = context.catalog.current();
  if (const CompiledPolicy* const policy = snapshot->find(id)) return policy->source.tenant;
  const ledger::Record* const document = context.follower.not_in_force(ledger::Kind::kPolicy, id);
  if (!document || document->is_withdrawn()) return std::nullopt;
  Problems unused;
  const auto policy = parse_policy(document->body, document->name, unused);
  return policy ? policy->tenant : "";
}

bool sees_policy(AdminContext& context, const AdminCall& call, std::string_view id) {
  const auto tenant = tenant_of_policy(context, id);
  return call.principal.sees_tenant(tenant.value_or(""));
}

Result<PolicyPointer> find_policy(AdminContext& context, const AdminCall& call, std::string_view id) {
  const auto snapshot = context.catalog.current();
  const PolicyPointer* const found = snapshot->policies().find_pointer(id);
  if (!found || !call.principal.sees_tenant((*found)->source.tenant))
    return std::unexpected(no_such_policy(id));
  return *found;
}

void put_warnings(DocumentNode& answer, std::span<const Policy> policies) {
  if (const auto warnings = warnings_of(policies); !warnings.empty())
    put(answer, "warnings", text_list(warnings));
}

DocumentNode policy_view(AdminContext& context, const CompiledPolicy& policy) {
  DocumentNode view = map_node();
  put(view, "id", text_node(policy.source.id));
  put(view, "version", number_node(policy.source.version));
  put(view, "source", text_node(context.catalog.is_from_file(policy.source.id) ? "file" : "api"));
  put(view, "document", policy_document(policy.source));
  return view;
}

// Reads back to the last withdrawal or the first version; if there are very many versions, only some of them.
void put_times(AdminContext& context, const Policy& policy, DocumentNode& view) {
  constexpr std::int64_t kVersionsMax = 1024;
  std::int64_t created_us = 0, updated_us = 0, below = policy.version + 1;
  const std::int64_t least = std::max<std::int64_t>(below - kVersionsMax, 1);
  while (below > least && !context.catalog.is_from_file(policy.id)) {
    const auto versions =
        context.follower.ledger().history(ledger::Kind::kPolicy, policy.id, below, kRecordsAtATime);
    if (!versions || versions->empty()) break;
    below = versions->back().version;
    for (const ledger::Record& version : *versions) {
      if (version.is_withdrawn()) {
        below = 0;
        break;
      }
      created_us = version.at_us;
      if (version.version == policy.version) updated_us = version.at_us;
    }
  }
  put(view, "created_at", updated_us == 0 ? null_node() : text_node(instant_text(created_us)));
  put(view, "updated_at", updated_us == 0 ? null_node() : text_node(instant_text(updated_us)));
}

bool PageItems::add(DocumentNode item) {
  std::string text;
  append_json(item, text);
  if (size() > 0 && bytes_ + text.size() > kPageBytesMax) return false;
  bytes_ += text.size();
  list_.items.push_back(std::move(item));
  return true;
}

}  // namespace sluice::admin

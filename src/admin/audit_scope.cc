#include "admin/audit_scope.h"

#include <utility>

#include "admin/policies/policy_views.h"
#include "document/document_builder.h"

namespace sluice::admin {
namespace {

using ledger::Kind;

std::string_view text_in(const DocumentNode& map, std::string_view field) {
  const DocumentNode* const found = map.find(field);
  return found && found->kind == DocumentNode::Kind::kText ? std::string_view(found->text) : "";
}

DocumentNode without_hash(DocumentNode token) {
  if (take(token, "hash")) put(token, "hash", text_node("…"));
  return token;
}

}  // namespace

bool AuditScope::sees_tenant_in(const DocumentNode& map, std::string_view field) const {
  return call_.principal.sees_tenant(text_in(map, field));
}

// A reset names its tenant, or a policy that implies it.
bool AuditScope::sees_event(const DocumentNode& event) const {
  if (!event.find("counters")) return false;
  if (event.find("tenant_id")) return sees_tenant_in(event, "tenant_id");
  return event.find("policy_id") && sees_policy(context_, call_, text_in(event, "policy_id"));
}

DocumentNode AuditScope::visible_user(DocumentNode user) const {
  auto overrides = take(user, "overrides");
  if (!overrides) return null_node();
  std::erase_if(overrides->items, [this](const DocumentNode& each) {
    return !sees_policy(context_, call_, text_in(each, "policy_id"));
  });
  if (overrides->items.empty()) return null_node();
  DocumentNode shown = map_node();
  put(shown, "overrides", *std::move(overrides));
  return shown;
}

DocumentNode AuditScope::visible(Kind kind, const std::string& body, const std::string& name) const {
  Problems unused;
  auto document = body.empty() ? std::nullopt : parse_document_tree(body, name, unused);
  if (!document) return null_node();
  if (is_everything_) return kind == Kind::kToken ? without_hash(*std::move(document)) : *std::move(document);
  switch (kind) {
    case Kind::kPolicy:
      return sees_tenant_in(*document, "tenant") ? *std::move(document) : null_node();
    case Kind::kRollout: {
      const DocumentNode* const policy = document->find("policy");
      return policy && sees_tenant_in(*policy, "tenant") ? *std::move(document) : null_node();
    }
    case Kind::kUser:
      return visible_user(*std::move(document));
    case Kind::kEvent:
      if (!sees_event(*document)) return null_node();
      take(*document, "address");  // of whoever made the reset
      return *std::move(document);
    case Kind::kToken:
    case Kind::kSwitch:
    case Kind::kRetention:
      break;
  }
  return null_node();
}

}  // namespace sluice::admin

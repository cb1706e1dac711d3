#pragma once

#include "admin/admin_call.h"
#include "document/document_tree.h"
#include "ledger/record.h"

namespace sluice::admin {

// What one caller may read in the audit log. Not thread-safe.
//
// A caller with access to all tenants reads everything, except for the hashes of tokens. One that is limited
// to some tenants reads what happened to their policies and rollouts, to their users' overrides for these,
// and to their counters: not the tiers of users, which belong to no tenant, and nothing about tokens or the
// switch.
class AuditScope {
 public:
  // REQUIRES: both outlive this object.
  AuditScope(AdminContext& context, const AdminCall& call)
      : context_(context), call_(call), is_everything_(call.principal.sees_tenant("")) {}

  bool is_everything() const { return is_everything_; }
  // The document of a record, or what the caller may see of it; null: nothing.
  DocumentNode visible(ledger::Kind kind, const std::string& body, const std::string& name) const;

 private:
  bool sees_tenant_in(const DocumentNode& map, std::string_view field) const;
  bool sees_event(const DocumentNode& event) const;
  DocumentNode visible_user(DocumentNode user) const;

  AdminContext& context_;
  const AdminCall& call_;
  const bool is_everything_;
};

}  // namespace sluice::admin

#include "control/access/rights.h"

#include <algorithm>

#include "base/limits.h"
#include "document/literals.h"

namespace sluice::control {
namespace {

Literal<Role> parse_role(std::string_view text) {
  if (const auto role = role_from(text)) return *role;
  return std::unexpected(shown(text) + " is not a role; use check, read, write, operator or admin");
}

Literal<std::string> parse_tenant_pattern(std::string_view text) {
  if (text.find('*') < text.size() - 1)
    return std::unexpected(shown(text) + " has a * before its end; only the last character may be a *");
  return parse_free_text(text, kNameBytesMax);
}

// Reads a list of texts, each converted by `parse`.
template <class Parse, class Out>
void read_list(const Fields& fields, const Place& top, std::string_view name, const Parse& parse, Out& out) {
  const DocumentNode* const list = fields.node(name);
  const Place place = top.field(name);
  if (!list || !is_list(*list, place)) return;
  for (std::size_t i = 0; i < list->items.size(); ++i) {
    const DocumentNode& item = list->items[i];
    if (!is_text(item, place.item(i))) continue;
    if (auto parsed = parse(item.text))
      out.push_back(*parsed);
    else
      place.item(i).report(item.line, parsed.error());
  }
}

}  // namespace

Rights read_rights(const Fields& fields, const Place& place, std::string_view whose) {
  Rights rights;
  read_list(fields, place, "roles", parse_role, rights.roles);
  read_list(fields, place, "tenants", parse_tenant_pattern, rights.tenants);
  if (const DocumentNode* tenants = fields.node("tenants");
      tenants && tenants->kind == DocumentNode::Kind::kList && tenants->items.empty())
    fields.report("tenants", "is empty; for all tenants, omit it or write [\"*\"]");
  if (std::ranges::find(rights.tenants, "*") != rights.tenants.end()) rights.tenants.clear();
  const std::string wanted = "; " + std::string(whose) + " needs at least one";
  fields.missing("roles", wanted);
  if (const DocumentNode* roles = fields.node("roles");
      roles && roles->kind == DocumentNode::Kind::kList && roles->items.empty())
    fields.report("roles", "is empty" + wanted);
  return rights;
}

}  // namespace sluice::control

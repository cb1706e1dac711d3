#include "control/access/identities.h"

#include <algorithm>
#include <array>
#include <map>
#include <utility>

#include "base/limits/certificate_limits.h"
#include "document/document_tree.h"

namespace sluice::control {
namespace {

constexpr std::array<std::string_view, 3> kFields = {"name", "roles", "tenants"};

Literal<std::string> parse_identity_name(std::string_view text) {
  if (text.find('*') < text.size() - 1)
    return std::unexpected(shown(text) + " has a * before its end; only the last character may be a *");
  return parse_free_text(text, kCertificateNameBytesMax);
}

}  // namespace

std::vector<Identity> parse_identities(std::string_view text, const std::string& file, Problems& problems) {
  std::vector<Identity> identities;
  const auto tree = parse_document_tree(text, file, problems);
  const Place top{file, problems};
  if (!tree || !is_list(*tree, top)) return identities;
  if (tree->items.size() > kIdentitiesMax) {
    top.report(tree->line, "there are more than " + std::to_string(kIdentitiesMax) + " identities");
    return identities;
  }
  std::map<std::string, std::string> taken;  // name → the entry that has it
  for (std::size_t i = 0; i < tree->items.size(); ++i) {
    const Place place = top.item(i);
    const Fields fields(tree->items[i], place, kFields);
    if (!fields.is_map()) continue;
    Identity identity;
    identity.name = fields.text("name", parse_identity_name).value_or("");
    fields.missing("name");
    identity.rights = read_rights(fields, place, "an identity");
    if (!identity.name.empty())
      if (const auto [entry, is_new] = taken.emplace(identity.name, place.path()); !is_new)
        fields.report("name", entry->second + " is also for " + shown(identity.name));
    identities.push_back(std::move(identity));
  }
  return identities;
}

std::optional<Principal> Identities::find(std::span<const std::string> names) const {
  for (const Identity& identity : list_)
    for (const std::string& name : names)
      if (name_matches(identity.name, name))
        return Principal{"certificate " + name, identity.rights.roles, identity.rights.tenants};
  return std::nullopt;
}

bool Identities::can_administer() const {
  return std::ranges::any_of(list_, [](const Identity& identity) {
    return Principal{"", identity.rights.roles, identity.rights.tenants}.can_administer();
  });
}

}  // namespace sluice::control

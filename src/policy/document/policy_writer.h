#pragma once

#include <string>

#include "document/document_tree.h"
#include "policy/model.h"

// Writes a policy as a document. Reading the text gives an equal policy (except for the version, which is not
// part of the document). Equal policies give equal bytes: fields are in a fixed order, defaults are left out,
// and tiers hold only the differences from the plain limits. So texts can be compared, hashed and stored.
//
//   write_policy(policy, text);   // {"id":"api.read","limits":[{"name":"burst","rate":"100/s","burst":20}]}
//   assert(parse_policy(text, "stored", problems) == policy);
//
// REQUIRES, for every policy here: it was read from a document, or would pass the same checks.
namespace sluice {

DocumentNode policy_document(const Policy& policy);

// Both append to `out`: compact JSON for databases and APIs, block YAML for people.
void write_policy(const Policy& policy, std::string& out);
void write_policy_yaml(const Policy& policy, std::string& out);

}  // namespace sluice

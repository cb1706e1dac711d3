#pragma once

#include <string>

#include "policy/document_tree.h"
#include "policy/model.h"

// A policy as its document again. Reading what is written gives an equal policy (its version apart, which is
// no part of the document), and equal policies are written as equal bytes: fields in one order, defaults left
// out, tiers as what differs from the plain limits. So texts can be compared, hashed and kept.
//
//   write_policy(policy, text);   // {"id":"api.read","limits":[{"name":"burst","rate":"100/s","burst":20}]}
//   assert(parse_policy(text, "stored", problems) == policy);
//
// REQUIRES, of every policy here: it was read from a document, or would pass the same checks.
namespace sluice {

DocumentNode policy_document(const Policy& policy);

// Both append to `out`. Compact JSON for databases and APIs; block YAML for people.
void write_policy(const Policy& policy, std::string& out);
void write_policy_yaml(const Policy& policy, std::string& out);

}  // namespace sluice

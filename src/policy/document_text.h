#pragma once

#include <string>

#include "policy/document_tree.h"

// A document's tree as text again: parse_document_tree() of it gives the tree back, but for the lines. What
// is not `quoted` is written as it stands, so it must be a number, true or false.
namespace sluice {

// Without a space or a line break, for databases and APIs.
void append_json(const DocumentNode& tree, std::string& out);

// One field a line, quotes only where they are needed, lists of words in brackets: for people. Ends with a
// line break.
void append_yaml(const DocumentNode& tree, std::string& out);

}  // namespace sluice

#pragma once

#include <string>

#include "document/document_tree.h"

// Writes the tree of a document as text. parse_document_tree() of the text gives the tree back, except for
// the line numbers. A text that is not `quoted` is written as it is, so it must be a number, true or false.
namespace sluice {

// Without spaces or line breaks, for databases and APIs.
void append_json(const DocumentNode& tree, std::string& out);

// For people: one field per line, quotes only where needed, lists of words in brackets. Ends with a line
// break.
void append_yaml(const DocumentNode& tree, std::string& out);

}  // namespace sluice

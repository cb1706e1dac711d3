#pragma once

#include <expected>
#include <string_view>

#include "document/document_tree.h"
#include "document/syntax/tree_builder.h"

namespace sluice {

// Reads JSON into the tree that read_yaml_tree() would give, about eight times as fast. The error means
// broken syntax: the text may still be YAML. Throws Refused for errors in either syntax: duplicate fields,
// nesting beyond `depth_max`. REQUIRES: the text is UTF-8.
//
// Nesting beyond kJsonDepthMax, but within `depth_max`, counts as broken syntax and is left to the YAML
// reader.
//
// It also accepts what JSON allows and the YAML reader does not: surrogate pairs (\ud83d\ude00), names longer
// than 1024 characters, a line break between a name and its colon, and a lone carriage return as a space.
std::expected<DocumentNode, Refused> read_json_tree(std::string_view text,
                                                    std::size_t depth_max = kDocumentDepthMax);

}  // namespace sluice

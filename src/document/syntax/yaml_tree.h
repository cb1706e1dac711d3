#pragma once

#include <string_view>

#include "document/document_tree.h"

namespace sluice {

// Reads YAML; nearly all JSON is also YAML. Throws Refused (tree_builder.h) for the errors listed in
// document_tree.h and for broken syntax. REQUIRES: the text is UTF-8.
DocumentNode read_yaml_tree(std::string_view text, std::size_t depth_max = kDocumentDepthMax);

}  // namespace sluice

#pragma once

#include <string_view>

#include "policy/document_tree.h"

namespace sluice {

// Reads YAML, of which JSON is nearly a part. Throws Refused (tree_builder.h) at what document_tree.h says,
// and at broken syntax. REQUIRES: the text is UTF-8.
DocumentNode read_yaml_tree(std::string_view text, std::size_t depth_max = kDocumentDepthMax);

}  // namespace sluice

#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/limits.h"
#include "document/problems.h"

namespace sluice {

// A YAML or JSON document as a tree with line numbers. A plain value. Scalars are still texts.
struct DocumentNode {
  enum class Kind { kNull, kText, kList, kMap };
  struct Key {
    std::string text;
    int line = 0;
    bool quoted = false;
  };

  Kind kind = Kind::kNull;
  bool quoted = false;         // a text in quotes (or a block text); never a number, a truth value or null
  int line = 0;                // from 1
  std::string text = {};       // kText
  std::vector<Key> keys = {};  // kMap; distinct; keys[i] belongs to items[i]
  std::vector<DocumentNode> items = {};  // kMap and kList

  // The value under `key`, or null.
  const DocumentNode* find(std::string_view key) const;
};

// The line of the first list or map that is nested in `depth_max` others, `node` included; nothing: there is
// none.
std::optional<int> line_too_deep(const DocumentNode& node, std::size_t depth_max);
std::string too_deep(std::size_t depth_max);  // the error message for it

// Reads one document, JSON or YAML. Refuses, with the line: text that is not UTF-8 or has control characters,
// broken syntax, a second document, tags, duplicate keys, nesting beyond `depth_max`, more than
// kPolicyFileBytesMax bytes. YAML anchors, aliases and merge keys are expanded, within the bounds of
// yaml_anchors.h; expanded nodes keep the lines of the anchor. Never throws.
std::optional<DocumentNode> parse_document_tree(std::string_view text, const std::string& file,
                                                Problems& problems,
                                                std::size_t depth_max = kDocumentDepthMax);

}  // namespace sluice

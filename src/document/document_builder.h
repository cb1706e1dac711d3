#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "document/document_tree.h"

// Builds the tree of a document for document_text.h to write. Lists grow with `items.push_back`.
//
//   DocumentNode map = map_node();
//   put(map, "id", text_node("api.read"));
//   put(map, "version", number_node(47));
namespace sluice {

inline DocumentNode text_node(std::string_view text) {
  return {.kind = DocumentNode::Kind::kText, .quoted = true, .text = std::string(text)};
}
inline DocumentNode number_node(std::int64_t number) {
  return {.kind = DocumentNode::Kind::kText, .text = std::to_string(number)};
}
inline DocumentNode truth_node(bool value) {
  return {.kind = DocumentNode::Kind::kText, .text = value ? "true" : "false"};
}
inline DocumentNode null_node() { return {}; }
inline DocumentNode map_node() { return {.kind = DocumentNode::Kind::kMap}; }
inline DocumentNode list_node() { return {.kind = DocumentNode::Kind::kList}; }

inline void put(DocumentNode& map, std::string_view key, DocumentNode value) {
  map.keys.push_back({std::string(key)});
  map.items.push_back(std::move(value));
}
// Left out when empty.
inline void put_text(DocumentNode& map, std::string_view key, std::string_view text) {
  if (!text.empty()) put(map, key, text_node(text));
}
// Left out when false.
inline void put_true(DocumentNode& map, std::string_view key, bool value) {
  if (value) put(map, key, truth_node(true));
}

// Removes the value under the key and returns it; none: the key was not there.
inline std::optional<DocumentNode> take(DocumentNode& map, std::string_view key) {
  const DocumentNode* const found = map.find(key);
  if (!found) return std::nullopt;
  const auto index = found - map.items.data();
  DocumentNode value = std::move(map.items[static_cast<std::size_t>(index)]);
  map.items.erase(map.items.begin() + index);
  map.keys.erase(map.keys.begin() + index);
  return value;
}

template <class Texts>
DocumentNode text_list(const Texts& texts) {
  DocumentNode list = list_node();
  for (const auto& text : texts) list.items.push_back(text_node(text));
  return list;
}

}  // namespace sluice

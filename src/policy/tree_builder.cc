#include "policy/tree_builder.h"

#include <algorithm>
#include <utility>

#include "base/limits.h"
#include "policy/literals.h"

namespace sluice {

using Kind = DocumentNode::Kind;

namespace {

// How many lists and maps are within each other.
std::size_t depth_of(const DocumentNode& node) {
  if (node.kind != Kind::kMap && node.kind != Kind::kList) return 0;
  std::size_t deepest = 0;
  for (const DocumentNode& item : node.items) deepest = std::max(deepest, depth_of(item));
  return deepest + 1;
}

void refuse_depth(std::size_t depth, int line) {
  if (depth > kDocumentDepthMax)
    throw Refused{line, "nesting deeper than " + std::to_string(kDocumentDepthMax) + " levels"};
}

}  // namespace

void TreeBuilder::open(Kind kind, int line) {
  refuse_depth(open_.size() + 1, line);
  open_.push_back({place({.kind = kind, .line = line}), {}});
}

DocumentNode& TreeBuilder::close() {
  DocumentNode& closed = *open_.back().node;
  open_.pop_back();
  return closed;
}

void TreeBuilder::put_tree(DocumentNode node, int line) {
  refuse_depth(open_.size() + depth_of(node), line);
  place(std::move(node));
}

// Puts a finished value, a name, or a collection that is about to be filled where it belongs.
DocumentNode* TreeBuilder::place(DocumentNode node) {
  if (open_.empty()) return &(root_ = std::move(node));
  Open& parent = open_.back();
  const bool is_name =
      parent.node->kind == Kind::kMap && parent.node->keys.size() == parent.node->items.size();
  if (!is_name) return &parent.node->items.emplace_back(std::move(node));
  add_name(parent, std::move(node));
  return nullptr;
}

void TreeBuilder::add_name(Open& map, DocumentNode name) {
  if (name.kind == Kind::kMap || name.kind == Kind::kList)
    throw Refused{name.line, "a list or map where a field name belongs; is a bracket not closed?"};
  // Most maps are small, and looking through those is quicker than any set.
  constexpr std::size_t kSmall = 16;
  auto& keys = map.node->keys;
  if (keys.size() == kSmall)
    for (const DocumentNode::Key& key : keys) map.names.insert(key.text);
  const bool taken = keys.size() < kSmall
                         ? std::ranges::find(keys, name.text, &DocumentNode::Key::text) != keys.end()
                         : !map.names.insert(name.text).second;
  if (taken) throw Refused{name.line, "the field " + shown(name.text) + " is there twice"};
  keys.push_back({std::move(name.text), name.line, name.quoted});
}

}  // namespace sluice

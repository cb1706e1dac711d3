#include "document/syntax/tree_builder.h"

#include <algorithm>
#include <utility>

#include "document/literals.h"

namespace sluice {
namespace {

using Kind = DocumentNode::Kind;

}  // namespace

void TreeBuilder::open(Kind kind, int line) {
  if (open_.size() == depth_max_) throw Refused{line, too_deep(depth_max_)};
  open_.push_back({place({.kind = kind, .line = line}), {}});
}

DocumentNode& TreeBuilder::close() {
  DocumentNode& closed = *open_.back().node;
  open_.pop_back();
  return closed;
}

void TreeBuilder::put_tree(DocumentNode node, int line) {
  if (line_too_deep(node, depth_max_ - open_.size())) throw Refused{line, too_deep(depth_max_)};
  place(std::move(node));
}

// Puts a value, a name, or a collection about to be filled in its place.
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
    throw Refused{name.line, "a list or map instead of a field name; is a bracket not closed?"};
  // Most maps are small, and a linear search is faster than a set.
  constexpr std::size_t kSmall = 16;
  auto& keys = map.node->keys;
  if (keys.size() == kSmall)
    for (const DocumentNode::Key& key : keys) map.names.insert(key.text);
  const bool taken = keys.size() < kSmall
                         ? std::ranges::find(keys, name.text, &DocumentNode::Key::text) != keys.end()
                         : !map.names.insert(name.text).second;
  if (taken) throw Refused{name.line, "duplicate field " + shown(name.text)};
  keys.push_back({std::move(name.text), name.line, name.quoted});
}

}  // namespace sluice

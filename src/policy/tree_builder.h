#pragma once

#include <cstddef>
#include <string>
#include <unordered_set>
#include <vector>

#include "policy/document_tree.h"

namespace sluice {

// Stops a reader at the first thing that is refused, whatever may follow.
struct Refused {
  int line;
  std::string message;
};

// Builds a document's tree from what a reader of YAML or JSON meets, in order, and throws Refused at what
// both refuse: nesting beyond `depth_max`, a field that is there twice, a collection as a field's name.
// In a map each name is put before its value. Not thread-safe.
//
// A reader that recurses tells us before it does, so the bound on depth also protects its stack.
class TreeBuilder {
 public:
  explicit TreeBuilder(std::size_t depth_max) : depth_max_(depth_max) {}

  // REQUIRES: kind is kList or kMap.
  void open(DocumentNode::Kind kind, int line);
  // What was opened last; good until the next call.
  DocumentNode& close();
  // A value, or the name of a field.
  void put(DocumentNode scalar) { place(std::move(scalar)); }
  // The same with all that is in it. `line` is where it is put.
  void put_tree(DocumentNode node, int line);

  DocumentNode take() { return std::move(root_); }

 private:
  // A map or list whose end has not come yet.
  struct Open {
    DocumentNode* node;
    std::unordered_set<std::string> names;  // of a map, once it has too many to look through
  };

  DocumentNode* place(DocumentNode node);
  void add_name(Open& map, DocumentNode name);

  const std::size_t depth_max_;
  DocumentNode root_;
  std::vector<Open> open_;  // outermost first; an element of `items` stays put while it is open
};

}  // namespace sluice

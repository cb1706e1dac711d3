#pragma once

#include <cstddef>
#include <string>
#include <unordered_set>
#include <vector>

#include "document/document_tree.h"

namespace sluice {

// Thrown to stop a reader at the first error.
struct Refused {
  int line;
  std::string message;
};

// Builds the tree of a document from the events of a YAML or JSON reader, in order. Throws Refused for errors
// in both formats: nesting beyond `depth_max`, a duplicate field, a collection as a field name. In a map,
// each name is put before its value. Not thread-safe.
//
// A recursive reader calls open() before it recurses, so the depth limit also protects its stack.
class TreeBuilder {
 public:
  explicit TreeBuilder(std::size_t depth_max) : depth_max_(depth_max) {}

  // REQUIRES: kind is kList or kMap.
  void open(DocumentNode::Kind kind, int line);
  // Closes what was opened last and returns it; valid until the next call.
  DocumentNode& close();
  // A value, or the name of a field.
  void put(DocumentNode scalar) { place(std::move(scalar)); }
  // The same for a whole tree. `line` is where it is put.
  void put_tree(DocumentNode node, int line);

  DocumentNode take() { return std::move(root_); }

 private:
  // A map or list that is not closed yet.
  struct Open {
    DocumentNode* node;
    std::unordered_set<std::string> names;  // of a map with too many fields for a linear search
  };

  DocumentNode* place(DocumentNode node);
  void add_name(Open& map, DocumentNode name);

  const std::size_t depth_max_;
  DocumentNode root_;
  std::vector<Open> open_;  // outermost first; an element of `items` does not move while it is open
};

}  // namespace sluice

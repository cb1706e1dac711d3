#pragma once

#include <cstddef>
#include <unordered_map>

#include "document/document_tree.h"

namespace sluice {

// The values of the anchors of a YAML document, for expanding its aliases. Not thread-safe.
//
//   descriptors:
//     - { key: a, rate_limit: &usual { unit: minute, requests_per_unit: 10 } }
//     - { key: b, rate_limit: *usual }
//
// A few bytes of nested aliases can expand to gigabytes. So all copies for a document's anchors and aliases
// may take at most kAliasedBytesMax bytes of memory. Throws Refused (tree_builder.h) beyond that.
class YamlAnchors {
 public:
  using Id = std::size_t;  // the parser's number for an anchor

  void keep(Id id, const DocumentNode& value);
  // A copy of the value of the alias on this line. Refuses an alias within its own anchor, which would not
  // end. REQUIRES: the anchor was seen before.
  DocumentNode copy(Id id, int line);

 private:
  struct Anchor {
    DocumentNode value;
    std::size_t bytes;
  };
  void count(std::size_t bytes, int line);

  std::unordered_map<Id, Anchor> anchors_;  // only complete ones
  std::size_t copied_bytes_ = 0;
};

// Applies a map's merge key, `<<: *usual` or `<<: [*usual, *other]`: fields of those maps that the map itself
// lacks are added to it; of several maps, the first wins. Throws Refused if the merge key names anything but
// maps.
void merge_fields(DocumentNode& map);

}  // namespace sluice

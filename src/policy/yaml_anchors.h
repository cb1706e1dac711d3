#pragma once

#include <cstddef>
#include <unordered_map>

#include "policy/document_tree.h"

namespace sluice {

// What the anchors of a YAML document stand for, so that its aliases can be written out. Not thread-safe.
//
//   descriptors:
//     - { key: a, rate_limit: &usual { unit: minute, requests_per_unit: 10 } }
//     - { key: b, rate_limit: *usual }
//
// A few bytes of aliases of aliases can stand for gigabytes: all that a document's anchors and aliases copy
// has at most kAliasedBytesMax bytes in memory. Throws Refused (tree_builder.h) beyond.
class YamlAnchors {
 public:
  using Id = std::size_t;  // the parser's number for an anchor

  void keep(Id id, const DocumentNode& value);
  // What the alias in this line stands for, as a copy. Refuses one within its own anchor, which has no end.
  // REQUIRES: the anchor was met before.
  DocumentNode copy(Id id, int line);

 private:
  struct Kept {
    DocumentNode value;
    std::size_t bytes;
  };
  void count(std::size_t bytes, int line);

  std::unordered_map<Id, Kept> kept_;  // only those that are complete
  std::size_t copied_bytes_ = 0;
};

// Carries out a map's merge key, `<<: *usual` or `<<: [*usual, *other]`: fields of those maps that the map
// itself lacks become its own, and of several the first counts. Throws Refused if it names something else.
void merge_fields(DocumentNode& map);

}  // namespace sluice

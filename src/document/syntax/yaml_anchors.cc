#include "document/syntax/yaml_anchors.h"

#include <algorithm>
#include <string>
#include <unordered_set>
#include <utility>
#include <vector>

#include "base/limits.h"
#include "document/syntax/tree_builder.h"

namespace sluice {
namespace {

using Kind = DocumentNode::Kind;

std::size_t bytes_of(const DocumentNode& node) {
  std::size_t bytes = sizeof node + node.text.size();
  for (const DocumentNode::Key& key : node.keys) bytes += sizeof key + key.text.size();
  for (const DocumentNode& item : node.items) bytes += bytes_of(item);
  return bytes;
}

// The maps that a merge key names, highest precedence first.
std::vector<DocumentNode> maps_in(DocumentNode value, int line) {
  std::vector<DocumentNode> maps;
  if (value.kind == Kind::kList)
    maps = std::move(value.items);
  else
    maps.push_back(std::move(value));
  for (const DocumentNode& each : maps)
    if (each.kind != Kind::kMap)
      throw Refused{line,
                    "a merge key (<<) that does not name a map; write `<<: *name` or `<<: [*one, *two]`"};
  return maps;
}

}  // namespace

void YamlAnchors::count(std::size_t bytes, int line) {
  copied_bytes_ += bytes;
  if (copied_bytes_ > kAliasedBytesMax)
    throw Refused{line, "aliases (*name) expand to more than " + std::to_string(kAliasedBytesMax >> 20) +
                            " MiB; use fewer"};
}

void YamlAnchors::keep(Id id, const DocumentNode& value) {
  const std::size_t bytes = bytes_of(value);
  count(bytes, value.line);
  anchors_.insert_or_assign(id, Anchor{value, bytes});
}

DocumentNode YamlAnchors::copy(Id id, int line) {
  const auto anchor = anchors_.find(id);
  if (anchor == anchors_.end()) throw Refused{line, "an alias (*name) refers to itself"};
  count(anchor->second.bytes, line);
  return anchor->second.value;
}

void merge_fields(DocumentNode& map) {
  const auto merge = std::ranges::find_if(
      map.keys, [](const DocumentNode::Key& key) { return key.text == "<<" && !key.quoted; });
  if (merge == map.keys.end()) return;
  const auto value = map.items.begin() + (merge - map.keys.begin());
  std::vector<DocumentNode> maps = maps_in(std::move(*value), merge->line);
  map.items.erase(value);
  map.keys.erase(merge);
  std::unordered_set<std::string> names;
  for (const DocumentNode::Key& key : map.keys) names.insert(key.text);
  for (DocumentNode& from : maps)
    for (std::size_t i = 0; i < from.items.size(); ++i) {
      if (!names.insert(from.keys[i].text).second) continue;
      map.keys.push_back(std::move(from.keys[i]));
      map.items.push_back(std::move(from.items[i]));
    }
}

}  // namespace sluice

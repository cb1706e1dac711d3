#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "document/document_tree.h"
#include "document/literals.h"
#include "document/problems.h"

namespace sluice {

// The position of a node in a document, and where its problems are reported. A place refers to its parent,
// which must outlive it. It builds its path only when asked, because nearly all documents are valid.
struct Place {
  const std::string& file;
  Problems& problems;
  const Place* parent = nullptr;          // null at the top
  std::string_view name = {};             // of a field
  std::optional<std::size_t> index = {};  // of a list item

  Place field(std::string_view field_name) const { return {file, problems, this, field_name}; }
  Place item(std::size_t item_index) const { return {file, problems, this, {}, item_index}; }
  std::string path() const;  // "policies[0].limits[1]"; empty at the top
  void report(int line, std::string message) const;
};

// Reports a node that is not text: lists, maps, null, and unquoted numbers and booleans, which need quotes to
// be text.
bool is_text(const DocumentNode& node, const Place& place);
// Reports a node that is not an integer from `least` to `most`.
std::optional<std::int64_t> to_integer(const DocumentNode& node, const Place& place, std::int64_t least,
                                       std::int64_t most);
// Report a node that is not a list, or not a map.
bool is_list(const DocumentNode& node, const Place& place);
bool is_map(const DocumentNode& node, const Place& place);

// Reads the fields of one map. An invalid field (wrong type, wrong value, blank) is reported with its line
// and path and then treated as absent. So reading goes on, and the author gets all problems at once. Not
// thread-safe.
//
//   Fields fields(node, place, kNames);              // not a map, unknown fields: reported
//   limit.name = fields.text("name", parse_name).value_or(default_name);
class Fields {
 public:
  // REQUIRES: all three outlive the reader; `names` lists all allowed fields.
  Fields(const DocumentNode& node, const Place& place, std::span<const std::string_view> names);

  bool is_map() const { return node_.kind == DocumentNode::Kind::kMap; }
  int line() const { return node_.line; }
  bool has(std::string_view name) const { return node_.find(name) != nullptr; }

  // The field's value, whatever its type; null if absent or blank (a blank field is reported).
  const DocumentNode* node(std::string_view name) const;

  // Text, converted to a T by `parse`: std::string_view → Literal<T>.
  template <class Parse>
  auto text(std::string_view name, Parse&& parse) const {
    using Parsed = decltype(parse(std::string_view()));
    const DocumentNode* value = node(name);
    if (!value || !is_text(*value, place_.field(name))) return std::optional<typename Parsed::value_type>();
    Parsed parsed = parse(value->text);
    if (parsed) return std::optional<typename Parsed::value_type>(std::move(*parsed));
    place_.field(name).report(value->line, parsed.error());
    return std::optional<typename Parsed::value_type>();
  }

  // An integer from `least` to `most`.
  std::optional<std::int64_t> integer(std::string_view name, std::int64_t least, std::int64_t most) const;
  // true or false; also True, TRUE, False, FALSE.
  std::optional<bool> truth(std::string_view name) const;

  // Reports that a required field is missing.
  void missing(std::string_view name, std::string_view hint = {}) const;
  // Reports a problem with the field as a whole.
  void report(std::string_view name, std::string message) const;

 private:
  const DocumentNode& node_;
  const Place& place_;
};

}  // namespace sluice

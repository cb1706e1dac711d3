#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "policy/document_tree.h"
#include "policy/literals.h"
#include "policy/problems.h"

namespace sluice {

// Where a piece of a document stands and where its problems go. A place within another refers to that one,
// which must outlive it, and spells its path out only when asked: nearly all documents are good.
struct Place {
  const std::string& file;
  Problems& problems;
  const Place* parent = nullptr;          // null at the top
  std::string_view name = {};             // of a field
  std::optional<std::size_t> index = {};  // of an item of a list

  Place field(std::string_view field_name) const { return {file, problems, this, field_name}; }
  Place item(std::size_t item_index) const { return {file, problems, this, {}, item_index}; }
  std::string path() const;  // "policies[0].limits[1]"; empty at the top
  void report(int line, std::string message) const;
};

// Reports what is not text: lists, maps, null, and plain numbers and truth values, which need quotes to be
// text.
bool is_text(const DocumentNode& node, const Place& place);
// Reports what is not a whole number from `least` to `most`.
std::optional<std::int64_t> to_integer(const DocumentNode& node, const Place& place, std::int64_t least,
                                       std::int64_t most);
// Report what is not a list, what is not a map.
bool is_list(const DocumentNode& node, const Place& place);
bool is_map(const DocumentNode& node, const Place& place);

// Reads the fields of one map. What is wrong with a field (a type, a value, blank) is reported with its line
// and path and reads as absent; so does reading go on, and an author gets all problems at once. Not
// thread-safe.
//
//   Fields fields(node, place, kNames);              // not a map, unknown fields: reported
//   limit.name = fields.text("name", parse_name).value_or(default_name);
class Fields {
 public:
  // REQUIRES: all three outlive the reader; `names` are all the fields there may be.
  Fields(const DocumentNode& node, const Place& place, std::span<const std::string_view> names);

  bool is_map() const { return node_.kind == DocumentNode::Kind::kMap; }
  int line() const { return node_.line; }
  bool has(std::string_view name) const { return node_.find(name) != nullptr; }

  // The field's value, whatever it is; null when absent or blank (the latter is reported).
  const DocumentNode* node(std::string_view name) const;

  // Text, turned into a T by `parse`: std::string_view → Literal<T>.
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

  // A whole number from `least` to `most`.
  std::optional<std::int64_t> integer(std::string_view name, std::int64_t least, std::int64_t most) const;
  // true or false, also with a capital or in capitals.
  std::optional<bool> truth(std::string_view name) const;

  // Reports that the field is missing. Call it when a required field is not there.
  void missing(std::string_view name, std::string_view hint = {}) const;
  // Reports a problem with the field as a whole.
  void report(std::string_view name, std::string message) const;

 private:
  const DocumentNode& node_;
  const Place& place_;
};

}  // namespace sluice

#include "policy/document/document_diff.h"

#include <algorithm>

#include "document/document_builder.h"
#include "document/document_text.h"
#include "document/literals.h"
#include "policy/document/limit_reader.h"

namespace sluice {
namespace {

using Kind = DocumentNode::Kind;

// Scalars as in YAML, collections as JSON, which is also YAML.
std::string one_line(const DocumentNode& node) {
  std::string text;
  if (node.kind == Kind::kMap ||
      (node.kind == Kind::kList && !node.items.empty() && node.items.front().kind == Kind::kMap)) {
    append_json(node, text);
    return text;
  }
  append_yaml(node, text);
  if (text.ends_with('\n')) text.pop_back();
  return text;
}

// A list of maps that have names, or get them from their position: the limits of a policy.
bool is_limits(const DocumentNode& node) {
  return node.kind == Kind::kList && !node.items.empty() &&
         std::ranges::all_of(node.items, [](const DocumentNode& item) { return item.kind == Kind::kMap; });
}

// The limits as a map from name to limit.
DocumentNode by_name(const DocumentNode& limits) {
  DocumentNode map{.kind = Kind::kMap};
  for (std::size_t i = 0; i < limits.items.size(); ++i) {
    const DocumentNode* name = limits.items[i].find("name");
    map.keys.push_back({name ? name->text : default_limit_name(i)});
    map.items.push_back(limits.items[i]);
  }
  return map;
}

// A burst that is left out equals the count of the rate. If only one of two limits has it, add it to the
// other, so that an unchanged burst does not look like a change.
void write_implied_burst(const DocumentNode& with, DocumentNode& without) {
  if (!with.find("burst") || without.find("burst")) return;
  const DocumentNode* algorithm = without.find("algorithm");
  const bool is_bucket = !algorithm || algorithm->text.ends_with("_bucket");  // absent: gcra
  const DocumentNode* rate = without.find("rate");
  const auto parsed = parse_rate(rate ? rate->text : "");
  if (is_bucket && parsed) put(without, "burst", number_node(parsed->count));
}

std::string names_of(const DocumentNode& map) {
  std::string names;
  for (const DocumentNode::Key& key : map.keys) names.append(names.empty() ? "" : ", ").append(key.text);
  return names;
}

class Comparison {
 public:
  std::vector<FieldChange> changes;

  void compare(const DocumentNode& before, const DocumentNode& after, const std::string& field) {
    if (before.kind == Kind::kMap && after.kind == Kind::kMap)
      return compare_maps(before, after,
                          [&](const std::string& key) { return field.empty() ? key : field + '.' + key; });
    if (is_limits(before) && is_limits(after)) return compare_limits(before, after, field);
    std::string old_text = one_line(before), new_text = one_line(after);
    if (old_text != new_text) changes.push_back({field, std::move(old_text), std::move(new_text)});
  }

 private:
  template <class FieldOf>
  void compare_maps(const DocumentNode& before, const DocumentNode& after, const FieldOf& field_of) {
    for (std::size_t i = 0; i < before.items.size(); ++i) {
      const std::string& key = before.keys[i].text;
      if (const DocumentNode* other = after.find(key))
        compare(before.items[i], *other, field_of(key));
      else
        changes.push_back({field_of(key), one_line(before.items[i]), std::nullopt});
    }
    for (std::size_t i = 0; i < after.items.size(); ++i)
      if (const std::string& key = after.keys[i].text; !before.find(key))
        changes.push_back({field_of(key), std::nullopt, one_line(after.items[i])});
  }

  void compare_limits(const DocumentNode& before, const DocumentNode& after, const std::string& field) {
    DocumentNode was = by_name(before), is = by_name(after);
    for (std::size_t i = 0; i < was.keys.size(); ++i) {
      const auto other = std::ranges::find(is.keys, was.keys[i].text, &DocumentNode::Key::text);
      if (other == is.keys.end()) continue;
      DocumentNode& limit = is.items[static_cast<std::size_t>(other - is.keys.begin())];
      write_implied_burst(was.items[i], limit);
      write_implied_burst(limit, was.items[i]);
    }
    const std::size_t changes_before = changes.size();
    compare_maps(was, is, [&](const std::string& name) { return field + '[' + name + ']'; });
    // The order decides which limit the local limiter uses, and which one an answer names first.
    if (changes.size() == changes_before && names_of(was) != names_of(is))
      changes.push_back({field, names_of(was), names_of(is)});
  }
};

}  // namespace

std::vector<FieldChange> document_changes(const DocumentNode& before, const DocumentNode& after) {
  Comparison comparison;
  comparison.compare(before, after, "");
  return std::move(comparison.changes);
}

std::string change_text(const FieldChange& change) {
  if (!change.before) return "+ " + change.field + ": " + change.after.value_or("");
  if (!change.after) return "- " + change.field + ": " + *change.before;
  return change.field + ": " + *change.before + " → " + *change.after;
}

}  // namespace sluice

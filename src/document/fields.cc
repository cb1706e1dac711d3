#include "document/fields.h"

#include <algorithm>
#include <vector>

#include "base/limits.h"
#include "base/text/near_name.h"

namespace sluice {
namespace {

using Kind = DocumentNode::Kind;

std::string_view kind_name(const DocumentNode& node) {
  switch (node.kind) {
    case Kind::kNull:
      return "blank";
    case Kind::kList:
      return "a list";
    case Kind::kMap:
      return "a map";
    case Kind::kText:
      break;
  }
  return node.quoted ? "a text in quotes" : "a text";
}

bool looks_like_number(std::string_view text) {
  if (text.starts_with('-') || text.starts_with('+')) text.remove_prefix(1);
  if (text == ".nan" || text == ".NaN" || text == ".NAN" || text == ".inf" || text == ".Inf" ||
      text == ".INF")
    return true;
  bool digit = false;
  for (const char c : text) {
    if (c >= '0' && c <= '9')
      digit = true;
    else if (c != '.' && !(digit && (c == 'e' || c == 'E' || c == '+' || c == '-')))
      return false;
  }
  return digit && !text.ends_with('-');
}

bool is_truth(std::string_view text) { return text == "true" || text == "false"; }

std::string unknown_field(std::string_view name, std::span<const std::string_view> names) {
  std::string message = "unknown field " + shown(name);
  const std::string_view start = name.substr(0, 40);  // no known name is longer; keeps it cheap
  const auto nearest = std::ranges::min_element(
      names, {}, [&](std::string_view known) { return slips_between(start, known); });
  if (slips_between(start, *nearest) * 2 < std::max(start.size(), nearest->size()))
    return message + "; did you mean " + shown(*nearest) + "?";
  message += "; known fields are ";
  for (const std::string_view known : names) message.append(known).append(known == names.back() ? "" : ", ");
  return message;
}

}  // namespace

std::string Place::path() const {
  constexpr std::size_t kShown = 60;
  if (!parent) return {};
  std::string path = parent->path();
  if (index) return path + '[' + std::to_string(*index) + ']';
  if (!path.empty()) path += '.';
  return path.append(name.substr(0, kShown));
}

void Place::report(int line, std::string message) const {
  problems.add({file, line, path(), std::move(message)});
}

bool is_text(const DocumentNode& node, const Place& place) {
  if (node.kind != Kind::kText) {
    place.report(node.line, "must be a text, not " + std::string(kind_name(node)));
    return false;
  }
  if (!node.quoted && (looks_like_number(node.text) || is_truth(node.text))) {
    place.report(node.line, node.text + " must be a text; if it is meant as one, put it in quotes");
    return false;
  }
  return true;
}

bool is_list(const DocumentNode& node, const Place& place) {
  if (node.kind == Kind::kList) return true;
  place.report(node.line, "must be a list, not " + std::string(kind_name(node)));
  return false;
}

bool is_map(const DocumentNode& node, const Place& place) {
  if (node.kind == Kind::kMap) return true;
  place.report(node.line, "must be a map of fields, not " + std::string(kind_name(node)));
  return false;
}

std::optional<std::int64_t> to_integer(const DocumentNode& node, const Place& place, std::int64_t least,
                                       std::int64_t most) {
  const auto refuse = [&](const std::string& before, const std::string& after = {}) {
    place.report(node.line, before + std::to_string(least) + " to " + std::to_string(most) + after);
    return std::nullopt;
  };
  if (node.kind != Kind::kText || node.quoted)
    return refuse("must be a whole number from ", ", not " + std::string(kind_name(node)));
  const auto value = parse_integer(node.text);
  if (!value) return refuse(value.error() + "; it must be one from ");
  if (*value < least || *value > most)
    return refuse(shown(node.text) + " is out of range; it must be a whole number from ");
  return *value;
}

Fields::Fields(const DocumentNode& node, const Place& place, std::span<const std::string_view> names)
    : node_(node), place_(place) {
  if (!sluice::is_map(node, place)) return;
  for (const DocumentNode::Key& key : node.keys) {
    if (place.problems.count() > kPolicyProblemsMax) return;  // suggestions are slow, and not shown
    if (std::ranges::find(names, key.text) != names.end()) continue;
    // A key that cannot be a field name is only quoted.
    const Place at = parse_name(key.text) ? place.field(key.text) : place;
    at.report(key.line, unknown_field(key.text, names));
  }
}

const DocumentNode* Fields::node(std::string_view name) const {
  const DocumentNode* value = node_.find(name);
  if (!value || value->kind != Kind::kNull) return value;
  // A null node has no position of its own; the YAML reader reports that of the next token.
  const auto index = static_cast<std::size_t>(value - node_.items.data());
  place_.field(name).report(node_.keys[index].line, "is blank; give it a value or leave the field out");
  return nullptr;
}

std::optional<std::int64_t> Fields::integer(std::string_view name, std::int64_t least,
                                            std::int64_t most) const {
  const DocumentNode* value = node(name);
  return value ? to_integer(*value, place_.field(name), least, most) : std::nullopt;
}

std::optional<bool> Fields::truth(std::string_view name) const {
  const DocumentNode* value = node(name);
  if (!value) return std::nullopt;
  if (value->kind == Kind::kText && !value->quoted) {
    for (const std::string_view word : {"true", "True", "TRUE"})
      if (value->text == word) return true;
    for (const std::string_view word : {"false", "False", "FALSE"})
      if (value->text == word) return false;
  }
  report(name, "must be true or false");
  return std::nullopt;
}

void Fields::missing(std::string_view name, std::string_view hint) const {
  if (!has(name)) place_.field(name).report(node_.line, "is missing" + std::string(hint));
}

void Fields::report(std::string_view name, std::string message) const {
  const DocumentNode* value = node_.find(name);
  place_.field(name).report(value ? value->line : node_.line, std::move(message));
}

}  // namespace sluice

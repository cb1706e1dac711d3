#include "document/document_text.h"

#include <algorithm>
#include <array>
#include <string_view>

#include "base/text/number_text.h"

namespace sluice {
namespace {

using Kind = DocumentNode::Kind;

bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }
bool is_collection(const DocumentNode& node) { return node.kind == Kind::kMap || node.kind == Kind::kList; }

// With the quotes and escapes that JSON and YAML have in common.
void append_quoted(std::string_view text, std::string& out) {
  constexpr std::string_view kHex = "0123456789abcdef";
  out += '"';
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\')
      out.append({'\\', c});
    else if (byte < ' ' || byte == 127)
      out.append("\\u00").append({kHex[byte >> 4], kHex[byte & 15]});
    else
      out += c;
  }
  out += '"';
}

// Words that some YAML readers take for a boolean or null.
bool is_yaml_word(std::string_view text) {
  constexpr std::array<std::string_view, 9> kWords = {"null", "true", "false", "yes", "no",
                                                      "on",   "off",  "y",     "n"};
  std::string lower(text);
  std::ranges::transform(lower, lower.begin(), [](char c) { return is_letter(c) ? char(c | 0x20) : c; });
  return std::ranges::find(kWords, lower) != kWords.end();
}

// Whether every YAML reader takes the unquoted text as that text. Conservative: false where only a full
// analysis could tell.
bool needs_no_quotes(std::string_view text, bool in_brackets) {
  if (text.empty() || is_yaml_word(text)) return false;
  if (!is_letter(text[0]) && !is_digit(text[0]) && text[0] != '/' && text[0] != '_') return false;
  // Allows 100/s, 90s and 2026-12-01T00:00:00Z, but nothing that could be a number in any base.
  if (is_digit(text[0]) && (!std::string_view("smhdZ").contains(text.back()) || text.contains('x')))
    return false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    const bool last = i + 1 == text.size();
    if (is_letter(c) || is_digit(c) || std::string_view("/_-.@+~").contains(c)) continue;
    if (in_brackets || !std::string_view("{}* :").contains(c)) return false;
    if (c == ' ' && last) return false;
    if (c == ':' && (last || text[i + 1] == ' ')) return false;
  }
  return true;
}

void append_yaml_scalar(const DocumentNode& node, bool in_brackets, std::string& out) {
  if (node.kind == Kind::kNull)
    out += "null";
  else if (!node.quoted || needs_no_quotes(node.text, in_brackets))
    out += node.text;
  else
    append_quoted(node.text, out);
}

// Values that fit on the line of their key: scalars, empty values, and lists of scalars.
bool fits_behind_its_key(const DocumentNode& node) {
  return node.items.empty() || (node.kind == Kind::kList && std::ranges::none_of(node.items, is_collection));
}

void append_yaml_inline(const DocumentNode& node, std::string& out) {
  if (!is_collection(node)) return append_yaml_scalar(node, false, out);
  if (node.kind == Kind::kMap) {
    out += "{}";
    return;
  }
  out += '[';
  for (const DocumentNode& item : node.items) {
    if (&item != &node.items.front()) out += ", ";
    append_yaml_scalar(item, true, out);
  }
  out += ']';
}

// Appends the key and its colon. YAML looks for the colon only in the first 1024 characters, unless a
// question mark announces a key.
void append_yaml_key(std::string_view key, std::size_t indent, std::string& out) {
  constexpr std::size_t kSimpleKeyBytesMax = 1000;
  std::string written;
  if (needs_no_quotes(key, false))
    written = key;
  else
    append_quoted(key, written);
  if (written.size() <= kSimpleKeyBytesMax)
    out.append(written);
  else
    out.append("? ").append(written).append(1, '\n').append(indent, ' ');
  out += ':';
}

// Appends the lines of a map or list: the first at the end of `out`, the others indented by `indent`.
void append_yaml_lines(const DocumentNode& node, std::size_t indent, std::string& out) {
  if (fits_behind_its_key(node)) {
    append_yaml_inline(node, out);
    out += '\n';
    return;
  }
  for (std::size_t i = 0; i < node.items.size(); ++i) {
    const DocumentNode& item = node.items[i];
    if (i > 0) out.append(indent, ' ');
    if (node.kind == Kind::kList) {
      out += "- ";
      append_yaml_lines(item, indent + 2, out);
      continue;
    }
    append_yaml_key(node.keys[i].text, indent, out);
    if (fits_behind_its_key(item))
      out += ' ';
    else
      out.append(1, '\n').append(indent + 2, ' ');
    append_yaml_lines(item, indent + 2, out);
  }
}

}  // namespace

void append_json(const DocumentNode& tree, std::string& out) {
  switch (tree.kind) {
    case Kind::kNull:
      out += "null";
      return;
    case Kind::kText:
      if (tree.quoted)
        append_quoted(tree.text, out);
      else
        out += tree.text;
      return;
    case Kind::kList:
    case Kind::kMap:
      break;
  }
  const bool map = tree.kind == Kind::kMap;
  out += map ? '{' : '[';
  for (std::size_t i = 0; i < tree.items.size(); ++i) {
    if (i > 0) out += ',';
    if (map) {
      append_quoted(tree.keys[i].text, out);
      out += ':';
    }
    append_json(tree.items[i], out);
  }
  out += map ? '}' : ']';
}

void append_yaml(const DocumentNode& tree, std::string& out) { append_yaml_lines(tree, 0, out); }

}  // namespace sluice

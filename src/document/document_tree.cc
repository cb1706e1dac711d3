#include "document/document_tree.h"

#include <algorithm>

#include "base/text/utf8.h"
#include "document/syntax/json_tree.h"
#include "document/syntax/tree_builder.h"
#include "document/syntax/yaml_tree.h"

namespace sluice {
namespace {

bool is_refused_control(char c) {
  const auto byte = static_cast<unsigned char>(c);
  return (byte < ' ' && c != '\n' && c != '\r' && c != '\t') || byte == 127;
}

// Refuses bytes that a text file cannot contain; yaml-cpp would accept most of them.
void refuse_binary(std::string_view text) {
  if (is_utf8(text) && std::ranges::none_of(text, is_refused_control)) return;
  int line = 1;
  for (std::size_t at = 0; at < text.size();) {
    if (text[at] == '\n') ++line;
    if (is_refused_control(text[at])) throw Refused{line, "a control character; is this a text file?"};
    const std::size_t length = utf8_length(text.substr(at));
    if (length == 0) throw Refused{line, "bytes that are not UTF-8; is this a text file?"};
    at += length;
  }
}

constexpr std::string_view kSpaces = " \t\r\n";

bool starts_with_bracket(std::string_view text) {
  const std::size_t first = text.find_first_not_of(kSpaces);
  return first != std::string_view::npos && (text[first] == '{' || text[first] == '[');
}

// Whether the first word inside the brackets is in double quotes, as JSON requires and few people write in
// YAML. REQUIRES: starts_with_bracket(text).
bool is_meant_as_json(std::string_view text) {
  const std::size_t first = text.find_first_not_of(" \t\r\n{[");
  return first != std::string_view::npos && text[first] == '"';
}

// Brackets start JSON, or YAML's `{id: a}`. Text that is neither is reported as the format that it looks
// like.
DocumentNode read_tree(std::string_view text, std::size_t depth_max) {
  if (!starts_with_bracket(text)) return read_yaml_tree(text, depth_max);
  auto json = read_json_tree(text, depth_max);
  if (json) return std::move(*json);
  try {
    return read_yaml_tree(text, depth_max);
  } catch (const Refused&) {
    if (is_meant_as_json(text)) throw json.error();
    throw;
  }
}

}  // namespace

const DocumentNode* DocumentNode::find(std::string_view key) const {
  const auto found = std::ranges::find(keys, key, &Key::text);
  return found == keys.end() ? nullptr : &items[static_cast<std::size_t>(found - keys.begin())];
}

std::optional<int> line_too_deep(const DocumentNode& node, std::size_t depth_max) {
  if (node.kind != DocumentNode::Kind::kMap && node.kind != DocumentNode::Kind::kList) return std::nullopt;
  if (depth_max == 0) return node.line;
  for (const DocumentNode& item : node.items)
    if (const auto line = line_too_deep(item, depth_max - 1)) return line;
  return std::nullopt;
}

std::string too_deep(std::size_t depth_max) {
  return "nesting deeper than " + std::to_string(depth_max) + " levels";
}

std::optional<DocumentNode> parse_document_tree(std::string_view text, const std::string& file,
                                                Problems& problems, std::size_t depth_max) {
  try {
    if (text.size() > kPolicyFileBytesMax)
      throw Refused{0, "the file is larger than " + std::to_string(kPolicyFileBytesMax >> 20) + " MiB"};
    if (text.starts_with("\xEF\xBB\xBF")) text.remove_prefix(3);
    refuse_binary(text);
    return read_tree(text, depth_max);
  } catch (const Refused& refused) {
    problems.add({file, refused.line, "", refused.message});
  } catch (const std::exception& broken) {
    problems.add({file, 0, "", std::string("not YAML or JSON: ") + broken.what()});
  }
  return std::nullopt;
}

}  // namespace sluice

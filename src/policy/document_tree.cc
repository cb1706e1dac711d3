#include "policy/document_tree.h"

#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/exceptions.h>
#include <yaml-cpp/mark.h>
#include <yaml-cpp/parser.h>

#include <algorithm>
#include <istream>
#include <streambuf>
#include <unordered_set>

#include "base/limits.h"
#include "policy/literals.h"
#include "policy/utf8.h"

namespace sluice {
namespace {

// Stops the parser at the first thing that is refused.
struct Refused {
  int line;
  std::string message;
};

// Builds the tree from the parser's events. The parser recurses once per level and tells us before it does,
// so the bound on depth here is also what protects the stack.
class TreeBuilder final : public YAML::EventHandler {
 public:
  DocumentNode take() { return std::move(root_); }
  bool has_document() const { return documents_ > 0; }

  void OnDocumentStart(const YAML::Mark& mark) override {
    if (++documents_ > 1) throw Refused{mark.line + 1, "a second document; one file holds one document"};
  }
  void OnDocumentEnd() override {}

  void OnNull(const YAML::Mark& mark, YAML::anchor_t) override { place({.line = mark.line + 1}); }

  void OnAlias(const YAML::Mark& mark, YAML::anchor_t) override {
    throw Refused{mark.line + 1, "an alias (*name); write the value out"};
  }
  void OnAnchor(const YAML::Mark& mark, const std::string&) override {
    throw Refused{mark.line + 1, "an anchor (&name); write the value out where it is used"};
  }

  void OnScalar(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t,
                const std::string& value) override {
    if (tag != "?" && tag != "!" && !tag.empty())
      throw Refused{mark.line + 1, "a tag (" + shown(tag) + "); policies need none"};
    const bool in_quotes = tag == "!";
    const bool null = !in_quotes && (value.empty() || value == "~" || value == "null" || value == "Null" ||
                                     value == "NULL");
    place({.kind = null ? DocumentNode::Kind::kNull : DocumentNode::Kind::kText,
           .quoted = in_quotes,
           .line = mark.line + 1,
           .text = value});
  }

  void OnSequenceStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t,
                       YAML::EmitterStyle::value) override {
    open(DocumentNode::Kind::kList, mark.line + 1, tag);
  }
  void OnSequenceEnd() override { open_.pop_back(); }
  void OnMapStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t,
                  YAML::EmitterStyle::value) override {
    open(DocumentNode::Kind::kMap, mark.line + 1, tag);
  }
  void OnMapEnd() override { open_.pop_back(); }

 private:
  // A map or list whose end has not come yet.
  struct Open {
    DocumentNode* node;
    std::unordered_set<std::string> seen;  // keys of a map
  };

  void open(DocumentNode::Kind kind, int line, const std::string& tag) {
    if (tag != "?" && !tag.empty()) throw Refused{line, "a tag (" + shown(tag) + "); policies need none"};
    if (open_.size() >= kDocumentDepthMax)
      throw Refused{line, "nesting deeper than " + std::to_string(kDocumentDepthMax) + " levels"};
    open_.push_back({place({.kind = kind, .line = line}), {}});
  }

  // Puts a finished value, a key, or a container that is about to be filled where it belongs.
  DocumentNode* place(DocumentNode node) {
    if (open_.empty()) return &(root_ = std::move(node));
    Open& parent = open_.back();
    const bool is_key = parent.node->kind == DocumentNode::Kind::kMap &&
                        parent.node->keys.size() == parent.node->items.size();
    if (!is_key) return &parent.node->items.emplace_back(std::move(node));
    if (node.kind == DocumentNode::Kind::kMap || node.kind == DocumentNode::Kind::kList)
      throw Refused{node.line, "a list or map where a field name belongs; is a bracket not closed?"};
    if (!parent.seen.insert(node.text).second)
      throw Refused{node.line, "the field " + shown(node.text) + " is there twice"};
    parent.node->keys.push_back({std::move(node.text), node.line});
    return nullptr;
  }

  DocumentNode root_;
  std::vector<Open> open_;  // outermost first; an element of `items` stays put while it is open
  int documents_ = 0;
};

// Lets a stream read a text without copying it.
class ViewBuffer final : public std::streambuf {
 public:
  explicit ViewBuffer(std::string_view text) {
    char* start = const_cast<char*>(text.data());  // a get area is never written
    setg(start, start, start + text.size());
  }
};

// What a text file can't contain; yaml-cpp would pass most of it on.
void refuse_binary(std::string_view text) {
  int line = 1;
  for (std::size_t at = 0; at < text.size();) {
    const unsigned char c = static_cast<unsigned char>(text[at]);
    if (c == '\n') ++line;
    if ((c < ' ' && c != '\n' && c != '\r' && c != '\t') || c == 127)
      throw Refused{line, "a control character; is this a text file?"};
    const std::size_t length = utf8_length(text.substr(at));
    if (length == 0) throw Refused{line, "bytes that are not UTF-8; is this a text file?"};
    at += length;
  }
}

}  // namespace

const DocumentNode* DocumentNode::find(std::string_view key) const {
  const auto found = std::ranges::find(keys, key, &Key::text);
  return found == keys.end() ? nullptr : &items[static_cast<std::size_t>(found - keys.begin())];
}

std::optional<DocumentNode> parse_document_tree(std::string_view text, const std::string& file,
                                                Problems& problems) {
  try {
    if (text.size() > kPolicyFileBytesMax)
      throw Refused{0, "the file has more than " + std::to_string(kPolicyFileBytesMax >> 20) + " MiB"};
    if (text.starts_with("\xEF\xBB\xBF")) text.remove_prefix(3);
    refuse_binary(text);
    ViewBuffer buffer(text);
    std::istream stream(&buffer);
    YAML::Parser parser(stream);
    TreeBuilder builder;
    while (parser.HandleNextDocument(builder)) {
    }
    if (!builder.has_document())
      throw Refused{0, "the file is empty; if that is meant, write an empty list, as in `policies: []`"};
    return builder.take();
  } catch (const Refused& refused) {
    problems.add({file, refused.line, "", refused.message});
  } catch (const YAML::Exception& broken) {
    problems.add(
        {file, broken.mark.is_null() ? 0 : broken.mark.line + 1, "", "not YAML or JSON: " + broken.msg});
  } catch (const std::exception& broken) {
    problems.add({file, 0, "", std::string("not YAML or JSON: ") + broken.what()});
  }
  return std::nullopt;
}

}  // namespace sluice

#include "document/syntax/yaml_tree.h"

#include <yaml-cpp/anchor.h>
#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/exceptions.h>
#include <yaml-cpp/mark.h>
#include <yaml-cpp/parser.h>

#include <istream>
#include <streambuf>
#include <utility>
#include <vector>

#include "document/literals.h"
#include "document/syntax/tree_builder.h"
#include "document/syntax/yaml_anchors.h"

namespace sluice {
namespace {

using Kind = DocumentNode::Kind;

// Passes the parser's events to a TreeBuilder. Of the YAML-only features, aliases are expanded and tags
// refused.
class EventReader final : public YAML::EventHandler {
 public:
  explicit EventReader(std::size_t depth_max) : builder_(depth_max) {}

  DocumentNode take() { return builder_.take(); }
  bool has_document() const { return documents_ > 0; }

  void OnDocumentStart(const YAML::Mark& mark) override {
    if (++documents_ > 1) throw Refused{mark.line + 1, "a second document; a file must contain one document"};
  }
  void OnDocumentEnd() override {}

  void OnNull(const YAML::Mark& mark, YAML::anchor_t anchor) override {
    put({.line = mark.line + 1}, anchor);
  }

  // The parser itself reports an unknown alias.
  void OnAlias(const YAML::Mark& mark, YAML::anchor_t anchor) override {
    const int line = mark.line + 1;
    builder_.put_tree(anchors_.copy(anchor, line), line);
  }

  void OnScalar(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                const std::string& value) override {
    const bool in_quotes = tag == "!";
    if (!in_quotes) refuse_tag(mark, tag);
    const bool null = !in_quotes && (value.empty() || value == "~" || value == "null" || value == "Null" ||
                                     value == "NULL");
    put({.kind = null ? Kind::kNull : Kind::kText, .quoted = in_quotes, .line = mark.line + 1, .text = value},
        anchor);
  }

  void OnSequenceStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                       YAML::EmitterStyle::value) override {
    open(Kind::kList, mark, tag, anchor);
  }
  void OnSequenceEnd() override { keep_anchor(builder_.close()); }
  void OnMapStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                  YAML::EmitterStyle::value) override {
    open(Kind::kMap, mark, tag, anchor);
  }
  void OnMapEnd() override {
    DocumentNode& map = builder_.close();
    merge_fields(map);
    keep_anchor(map);
  }

 private:
  static void refuse_tag(const YAML::Mark& mark, const std::string& tag) {
    if (tag != "?" && !tag.empty())
      throw Refused{mark.line + 1, "a tag (" + shown(tag) + "); tags are not supported"};
  }

  void put(DocumentNode scalar, YAML::anchor_t anchor) {
    if (anchor != YAML::NullAnchor) anchors_.keep(anchor, scalar);
    builder_.put(std::move(scalar));
  }
  void open(Kind kind, const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor) {
    refuse_tag(mark, tag);
    builder_.open(kind, mark.line + 1);
    open_anchors_.push_back(anchor);
  }
  void keep_anchor(const DocumentNode& closed) {
    if (open_anchors_.back() != YAML::NullAnchor) anchors_.keep(open_anchors_.back(), closed);
    open_anchors_.pop_back();
  }

  TreeBuilder builder_;
  YamlAnchors anchors_;
  std::vector<YAML::anchor_t> open_anchors_;  // of the lists and maps that are open
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

}  // namespace

DocumentNode read_yaml_tree(std::string_view text, std::size_t depth_max) {
  try {
    ViewBuffer buffer(text);
    std::istream stream(&buffer);
    YAML::Parser parser(stream);
    EventReader reader(depth_max);
    while (parser.HandleNextDocument(reader)) {
    }
    if (!reader.has_document())
      throw Refused{0, "the file is empty; if that is intended, write its list as `[]`"};
    return reader.take();
  } catch (const YAML::Exception& broken) {
    throw Refused{broken.mark.is_null() ? 0 : broken.mark.line + 1, "not YAML or JSON: " + broken.msg};
  }
}

}  // namespace sluice

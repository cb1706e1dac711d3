#include "policy/yaml_tree.h"

#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/exceptions.h>
#include <yaml-cpp/mark.h>
#include <yaml-cpp/parser.h>

#include <istream>
#include <streambuf>

#include "policy/literals.h"
#include "policy/tree_builder.h"

namespace sluice {
namespace {

using Kind = DocumentNode::Kind;

// Hands the parser's events to a TreeBuilder, and refuses what only YAML has.
class EventReader final : public YAML::EventHandler {
 public:
  DocumentNode take() { return builder_.take(); }
  bool has_document() const { return documents_ > 0; }

  void OnDocumentStart(const YAML::Mark& mark) override {
    if (++documents_ > 1) throw Refused{mark.line + 1, "a second document; one file holds one document"};
  }
  void OnDocumentEnd() override {}

  void OnNull(const YAML::Mark& mark, YAML::anchor_t) override { builder_.put({.line = mark.line + 1}); }

  void OnAlias(const YAML::Mark& mark, YAML::anchor_t) override {
    throw Refused{mark.line + 1, "an alias (*name); write the value out"};
  }
  void OnAnchor(const YAML::Mark& mark, const std::string&) override {
    throw Refused{mark.line + 1, "an anchor (&name); write the value out where it is used"};
  }

  void OnScalar(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t,
                const std::string& value) override {
    const bool in_quotes = tag == "!";
    if (!in_quotes) refuse_tag(mark, tag);
    const bool null = !in_quotes && (value.empty() || value == "~" || value == "null" || value == "Null" ||
                                     value == "NULL");
    builder_.put({.kind = null ? Kind::kNull : Kind::kText,
                  .quoted = in_quotes,
                  .line = mark.line + 1,
                  .text = value});
  }

  void OnSequenceStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t,
                       YAML::EmitterStyle::value) override {
    refuse_tag(mark, tag);
    builder_.open(Kind::kList, mark.line + 1);
  }
  void OnSequenceEnd() override { builder_.close(); }
  void OnMapStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t,
                  YAML::EmitterStyle::value) override {
    refuse_tag(mark, tag);
    builder_.open(Kind::kMap, mark.line + 1);
  }
  void OnMapEnd() override { builder_.close(); }

 private:
  static void refuse_tag(const YAML::Mark& mark, const std::string& tag) {
    if (tag != "?" && !tag.empty())
      throw Refused{mark.line + 1, "a tag (" + shown(tag) + "); policies need none"};
  }

  TreeBuilder builder_;
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

DocumentNode read_yaml_tree(std::string_view text) {
  try {
    ViewBuffer buffer(text);
    std::istream stream(&buffer);
    YAML::Parser parser(stream);
    EventReader reader;
    while (parser.HandleNextDocument(reader)) {
    }
    if (!reader.has_document())
      throw Refused{0, "the file is empty; if that is meant, write an empty list, as in `policies: []`"};
    return reader.take();
  } catch (const YAML::Exception& broken) {
    throw Refused{broken.mark.is_null() ? 0 : broken.mark.line + 1, "not YAML or JSON: " + broken.msg};
  }
}

}  // namespace sluice

#include "document/syntax/json_tree.h"

#include <algorithm>
#include <string>

#include "base/limits.h"
#include "base/text/json_reader.h"

namespace sluice {
namespace {

using Kind = DocumentNode::Kind;

// One pass over one text. Not thread-safe.
class TreeReader {
 public:
  TreeReader(std::string_view text, std::size_t depth_max)
      : text_(text), reader_(text, scratch_), builder_(depth_max) {}

  std::expected<DocumentNode, Refused> read() {
    read_value();
    if (reader_.finish()) return builder_.take();
    return std::unexpected(
        Refused{line_at(reader_.problem_offset()), std::string("not JSON: ") + reader_.problem()});
  }

 private:
  // Recursive; the depth is limited by the builder or by the reader, whichever is less.
  static_assert(kDocumentDepthMax <= kJsonDepthMax);
  void read_value() {
    const JsonReader::Kind kind = reader_.kind();
    const int line = line_at(reader_.offset());
    switch (kind) {
      case JsonReader::Kind::kObject:
        return read_object(line);
      case JsonReader::Kind::kArray:
        return read_array(line);
      case JsonReader::Kind::kString:
        return put(
            {.kind = Kind::kText, .quoted = true, .line = line, .text = std::string(reader_.string())});
      case JsonReader::Kind::kNull:
        reader_.skip();
        return put({.line = line});
      case JsonReader::Kind::kNumber:
      case JsonReader::Kind::kBoolean:
      case JsonReader::Kind::kNothing:
        return put({.kind = Kind::kText, .line = line, .text = std::string(reader_.plain())});
    }
  }

  void read_object(int line) {
    builder_.open(Kind::kMap, line);
    reader_.enter_object();
    for (std::string_view name; reader_.next_member(name);) {
      put({.kind = Kind::kText,
           .quoted = true,
           .line = line_at(reader_.name_offset()),
           .text = std::string(name)});
      read_value();
    }
    builder_.close();
  }

  void read_array(int line) {
    builder_.open(Kind::kList, line);
    reader_.enter_array();
    while (reader_.next_element()) read_value();
    builder_.close();
  }

  // After an error the values are placeholders, and the tree is discarded.
  void put(DocumentNode scalar) {
    if (reader_.ok()) builder_.put(std::move(scalar));
  }

  // REQUIRES: offsets only increase, so that every line is counted once.
  int line_at(std::size_t offset) {
    line_ += static_cast<int>(std::ranges::count(text_.substr(counted_, offset - counted_), '\n'));
    counted_ = offset;
    return line_;
  }

  std::string_view text_;
  std::string scratch_;
  JsonReader reader_;
  TreeBuilder builder_;
  std::size_t counted_ = 0;
  int line_ = 1;
};

}  // namespace

std::expected<DocumentNode, Refused> read_json_tree(std::string_view text, std::size_t depth_max) {
  return TreeReader(text, depth_max).read();
}

}  // namespace sluice

#pragma once

#include <span>
#include <string>
#include <string_view>

#include "admin/admin_call.h"
#include "document/document_builder.h"
#include "document/fields.h"

namespace sluice::admin {

// Reads the fields of a call's JSON body in the same way as policy documents. Not thread-safe.
//
//   BodyReader body(call, kNames);
//   rule.limit = body.fields().integer("limit", 0, kRateMax).value_or(0);
//   if (auto bad = body.error()) return std::unexpected(*bad);
class BodyReader {
 public:
  // REQUIRES: both outlive this object. A body that is not JSON is an error and reads as an empty object. If
  // the `nullable` field is null, it counts as absent; null in any other field is an error.
  BodyReader(const AdminCall& call, std::span<const std::string_view> names, std::string_view nullable = {})
      : tree_(read(call, names, nullable)), place_{file_, problems_}, fields_(tree_, place_, names) {}
  BodyReader(const BodyReader&) = delete;
  BodyReader& operator=(const BodyReader&) = delete;

  const Fields& fields() const { return fields_; }
  const Place& place() const { return place_; }
  // The first error; none: no error so far.
  std::optional<Error> error() const {
    if (problems_.empty()) return std::nullopt;
    return problems_.first_error();
  }

 private:
  DocumentNode read(const AdminCall& call, std::span<const std::string_view> names,
                    std::string_view nullable) {
    if (call.body.empty()) {
      std::string fields;
      for (const std::string_view name : names) fields.append(fields.empty() ? "" : ", ").append(name);
      problems_.add({file_, 0, "", "the body is empty; send a JSON object with " + fields});
      return {.kind = DocumentNode::Kind::kMap};
    }
    auto tree = parse_document_tree(call.body, file_, problems_);
    if (!tree) return {.kind = DocumentNode::Kind::kMap};
    const DocumentNode* const value = tree->find(nullable);
    if (value && value->kind == DocumentNode::Kind::kNull) take(*tree, nullable);
    return *std::move(tree);
  }

  const std::string file_ = "body";
  Problems problems_;
  const DocumentNode tree_;
  const Place place_;
  const Fields fields_;
};

}  // namespace sluice::admin

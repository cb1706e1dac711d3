#pragma once

#include <boost/unordered/unordered_flat_map.hpp>
#include <expected>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "plan/log/access_entry.h"

namespace sluice::plan {

// The names of fields: the usual fields by the names they have in common logs, and other fields requested by
// name. Immutable while logs are read.
//
//   FieldNames names;
//   names.find("remote_addr");                 // the same as names.find("ip")
//   const auto plan = names.ask_for("plan");   // from now on readers keep the member `plan`, too
//
// A member of a nested object is called "outer.inner".
class FieldNames {
 public:
  FieldNames();

  std::optional<FieldIndex> find(std::string_view name) const {
    const auto found = by_name_.find(name);
    return found == by_name_.end() ? std::nullopt : std::optional<FieldIndex>(found->second);
  }
  // Requests a field by name, usual or not, and returns its index. The error is a sentence.
  std::expected<FieldIndex, std::string> ask_for(std::string_view name);

  // The first requested field that only JSON logs can have; empty: there is none.
  std::string_view only_in_json() const {
    return asked_.empty() ? std::string_view() : std::string_view(asked_[0]);
  }

  // The name that reports and policies use for a usual field: "ip".
  static std::string_view name_of(LogField field);

 private:
  struct Hash {
    using is_transparent = void;
    std::size_t operator()(std::string_view text) const { return std::hash<std::string_view>()(text); }
  };
  boost::unordered_flat_map<std::string, FieldIndex, Hash, std::equal_to<>> by_name_;
  std::vector<std::string> asked_;
};

}  // namespace sluice::plan

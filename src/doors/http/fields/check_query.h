#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/error.h"
#include "doors/check/check_list.h"
#include "doors/http/fields/check_field.h"

// Checks from the query of a URL: tenant_id=a&key=b%20c&tokens=2, with the names used in JSON. Every other
// name is a dimension (&user=u1), but a name that looks like a typo of a field is an error.
namespace sluice::doors {

// Builds a check from several sources. A field or dimension that is set keeps its value, under any of its
// names: a tenant in the query is not replaced by the tenant of a header. Not thread-safe.
class CheckBuilder {
 public:
  CheckBuilder(CheckList& list, std::string& scratch) : list_(list), check_(list.add()), scratch_(scratch) {}

  // True if the name is already set.
  bool has(std::string_view name) const;
  Result<void> put(std::string_view name, std::string_view value);

  // Copies text that does not live as long as the check. REQUIRES: scratch has room for it.
  std::string_view keep(std::string_view text);

 private:
  std::string_view& text_of(CheckField field);
  Result<void> put_tokens(std::string_view name, std::string_view digits);

  CheckList& list_;
  CheckRequest& check_;
  std::string& scratch_;
  std::uint32_t seen_ = 0;
};

// REQUIRES: scratch has room for the whole query.
Result<void> read_query(std::string_view text, std::string& scratch, CheckBuilder& check);

}  // namespace sluice::doors

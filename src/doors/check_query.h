#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/error.h"
#include "doors/check_field.h"
#include "doors/check_list.h"

// Checks from the query of a URL: tenant_id=a&key=b%20c&tokens=2, names as in JSON. Every other name is a
// dimension: &user=u1; but one that looks like a slip of a field is an error.
namespace sluice::doors {

// Puts a check together from its sources. A field or dimension that is there already stays, by whichever of
// its names: the tenant of the query is not replaced by that of a header. Not thread-safe.
class CheckBuilder {
 public:
  CheckBuilder(CheckList& list, std::string& scratch) : list_(list), check_(list.add()), scratch_(scratch) {}

  // True if the name is taken by now.
  bool has(std::string_view name) const;
  Result<void> put(std::string_view name, std::string_view value);

  // Copies text that does not live as long as the check. REQUIRES: the scratch string has room for it.
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

#include "plan/report/shown_values.h"

#include "plan/report/shown_text.h"

namespace sluice::plan {

std::string ShownValues::operator()(std::string_view dimension, std::string_view value) const {
  // These say what was requested. All other dimensions may identify the caller.
  const bool is_public = dimension == "tenant" || dimension == "resource" || dimension == "route";
  if (pseudonyms_ && !is_public) return pseudonyms_->of(value);
  return maker_.is_secret(dimension) ? masked(value) : presentable(value);
}

}  // namespace sluice::plan

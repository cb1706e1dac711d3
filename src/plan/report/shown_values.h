#pragma once

#include <string>
#include <string_view>

#include "base/secret/pseudonyms.h"
#include "plan/log/request_maker.h"

namespace sluice::plan {

// How a report shows the values of dimensions: as they are, except that secrets show only their first
// characters, and identities are replaced by pseudonyms if requested. Not thread-safe.
class ShownValues {
 public:
  // Both must outlive this object. `pseudonyms`: null if none are wanted.
  ShownValues(const RequestMaker& maker, const Pseudonyms* pseudonyms)
      : maker_(maker), pseudonyms_(pseudonyms) {}

  std::string operator()(std::string_view dimension, std::string_view value) const;

 private:
  const RequestMaker& maker_;
  const Pseudonyms* const pseudonyms_;
};

}  // namespace sluice::plan

#pragma once

#include <string>
#include <string_view>

#include "base/pseudonyms.h"
#include "plan/request_maker.h"

namespace sluice::plan {

// How a report shows the values of dimensions: as they are, but secrets only by their first characters, and
// who it was only by a pseudonym if that is wanted. Not thread-safe.
class ShownValues {
 public:
  // Both outlive it. `pseudonyms`: null, none are wanted.
  ShownValues(const RequestMaker& maker, const Pseudonyms* pseudonyms)
      : maker_(maker), pseudonyms_(pseudonyms) {}

  std::string operator()(std::string_view dimension, std::string_view value) const;

 private:
  const RequestMaker& maker_;
  const Pseudonyms* const pseudonyms_;
};

}  // namespace sluice::plan

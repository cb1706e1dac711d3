#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "base/error.h"

namespace sluice {

// One error in a policy file.
struct Problem {
  std::string file;
  int line = 0;       // from 1; 0: the file as a whole
  std::string field;  // "policies[0].limits[1].rate"; may be empty
  std::string message;

  // policies.yaml:12: policies[0].limits[1].rate: "10/fortnight" is not a rate; …
  std::string text() const;
};

// The problems found so far, at most kPolicyProblemsMax. Further ones are only counted, so that a badly
// broken file does not flood its author. Not thread-safe.
class Problems {
 public:
  void add(Problem problem);
  bool empty() const { return list_.empty(); }
  std::size_t count() const { return list_.size() + left_out_; }
  const std::vector<Problem>& list() const { return list_; }

  // The first problem, for callers that report one error. REQUIRES: !empty()
  Error first_error() const;

  // One line per problem; the last line says how many more there are, if any.
  std::vector<std::string> texts() const;

 private:
  std::vector<Problem> list_;
  std::size_t left_out_ = 0;
};

}  // namespace sluice

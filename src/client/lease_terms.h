#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <set>
#include <string>
#include <utility>

namespace sluice {

// What an answer says about the limit that decided. Immutable.
struct LeaseTerms {
  std::int64_t limit = 0;  // 0: not known
  std::string limit_name;
  std::string policy_version;
  std::int64_t check_cost = 0;  // of a check that names no cost; 0: not known

  auto operator<=>(const LeaseTerms&) const = default;
};

// Keeps terms as long as the limiter lives, because answers refer to them: each once, and so many that
// policies may change for years. Belongs to one thread; what it returns may be read by any.
class TermsBook {
 public:
  static constexpr std::size_t kTermsMax = 10'000;

  const LeaseTerms* keep(LeaseTerms terms) {
    if (terms_.size() >= kTermsMax && !terms_.contains(terms)) return &unknown_;
    return &*terms_.insert(std::move(terms)).first;
  }

 private:
  std::set<LeaseTerms> terms_;
  const LeaseTerms unknown_;
};

}  // namespace sluice

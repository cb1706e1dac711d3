#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/hmac.h"

namespace sluice {

// Stands in reports for addresses and users: who it is cannot be told, that it is the same one can.
// Immutable; thread-safe.
//
// The salt changes with every period, so that the names of one day cannot be followed into the next. Whoever
// has the secret makes the same names: the nodes of a fleet, say.
class Pseudonyms {
 public:
  static constexpr std::int64_t kDayUs = 86'400'000'000;

  // Of the period that `now_us` lies in.
  Pseudonyms(std::string_view secret, std::int64_t now_us, std::int64_t period_us = kDayUs);
  // Nobody else makes the same names.
  Pseudonyms();

  // "~3f9c2a71b04d5e68"
  std::string of(std::string_view who) const;

 private:
  const HmacKey salted_;
};

}  // namespace sluice

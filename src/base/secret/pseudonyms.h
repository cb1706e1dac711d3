#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/secret/hmac.h"
#include "base/time_units.h"

namespace sluice {

// Replaces addresses and users in reports: the same one always gets the same name, but the name does not
// reveal who it is. Immutable; thread-safe.
//
// The salt changes with every period, so that a name cannot be followed from one day to the next. All holders
// of the secret make the same names: for instance, the nodes of a fleet.
class Pseudonyms {
 public:
  // For the period that contains `now_us`.
  Pseudonyms(std::string_view secret, std::int64_t now_us, std::int64_t period_us = kDayUs);
  // With a random secret: no other process makes the same names.
  Pseudonyms();

  // "~3f9c2a71b04d5e68"
  std::string of(std::string_view who) const;

 private:
  const HmacKey salted_;
};

}  // namespace sluice

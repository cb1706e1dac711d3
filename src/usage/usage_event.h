#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "policy/dimension.h"

namespace sluice::usage {

enum class Kind : std::uint8_t {
  kCheck,   // decided
  kLease,   // units were granted, or none were
  kReturn,  // units of a lease were given back
};

// What one caller used at one moment: what usage events tell. Plain data; the views are its maker's.
struct UsageEvent {
  Kind kind = Kind::kCheck;
  bool allowed = true;
  bool degraded = false;
  bool replayed = false;
  std::int64_t at_us = 0;
  std::int64_t cost = 0;  // charged or, if denied, asked for; of a lease: granted; of a return: given back
  std::string_view tenant;
  std::string_view policy;  // that decided; empty: none applied
  std::int64_t policy_version = 0;
  std::string_view resource;
  std::string_view key;
  std::span<const Dimension> dimensions;  // at most kDimensionsMax
  std::string_view request_id;
};

}  // namespace sluice::usage

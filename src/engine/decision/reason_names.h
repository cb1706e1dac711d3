#pragma once

#include <array>
#include <string_view>

namespace sluice {

// The names of the enumerators of Reason (decision.h), in their order: the words of every answer.
inline constexpr std::array<std::string_view, 11> kReasonNames = {"ok",
                                                                  "limited",
                                                                  "never",
                                                                  "no_policy",
                                                                  "no_limit",
                                                                  "shadow",
                                                                  "store_unavailable",
                                                                  "store_full",
                                                                  "switch",
                                                                  "tenant_moving",
                                                                  "policies_unavailable"};

}  // namespace sluice

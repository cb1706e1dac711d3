#pragma once

#include <span>

#include "engine/decision/decision.h"

namespace sluice {

// The answer to several checks that were decided together: all are charged or, if one is denied, none. It
// points into the Engine that gave it, and is valid until that Engine's next call.
//
//   two checks, the second over its limit:  overall denied; parts[0] allowed, its level unchanged;
//                                           parts[1] denied
struct JointDecision {
  Decision overall;                 // has the limits of all parts
  std::span<const Decision> parts;  // one per request, in order: whether that one had room
};

}  // namespace sluice
